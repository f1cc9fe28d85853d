import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ON_POSTGRES, query, SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { fileOf, withRaw } from '../../../../../test/support/raw-database.ts'
import {
  countersignd,
  startServiceProcess,
  startTestService,
  tempDir,
  testEnv,
} from '../../../../../test/support/service.ts'
import { readSettings } from '../../../src/base/config.ts'

type Env = Record<string, string>

/** What the doctor says of one thing, and how it ends. */
async function examined(env: Env, check: string) {
  const { code, stdout, stderr } = await countersignd(env, 'doctor', '--json')
  const findings: { check: string; verdict: string; detail: string }[] = JSON.parse(stdout || '[]')
  const found = findings.find((each) => each.check === check)
  assert.ok(found, stderr)
  return { code, verdict: found.verdict, detail: found.detail }
}

/** Data of a service that has stopped, in which somebody is verified. */
async function leaveData(t: Parameters<typeof startTestService>[0]) {
  const service = await startTestService(t)
  await service.operator.addVerifiedOwner('ada')
  await service.stop()
  return service
}

/** Every file with its mode and a digest; the index of the log is no data. */
function inventory(dir: string): string[] {
  return readdirSync(dir)
    .filter((name) => !name.endsWith('-shm'))
    .toSorted()
    .map((name) => {
      const file = join(dir, name)
      const digest = createHash('sha256').update(readFileSync(file)).digest('hex')
      return `${name} ${(statSync(file).mode & 0o777).toString(8)} ${digest}`
    })
}

test('doctor finds no problem with a running service', async (t) => {
  const service = await startTestService(t)
  const { code, stdout, stderr } = await countersignd(service.env, 'doctor', '--json')
  assert.equal(code, 0, stderr)
  const wrong = JSON.parse(stdout).filter((each: { verdict: string }) => each.verdict !== 'ok')
  assert.deepEqual(wrong, [])
})

test('doctor warns of a variable that is nearly a setting', async (t) => {
  const service = await startTestService(t)
  const env = { ...service.env, WORKER: '2' }
  assert.deepEqual(await examined(env, 'settings'), {
    code: 0,
    verdict: 'warn',
    detail: 'WORKER is not a setting. Did you mean WORKERS?',
  })
})

test('doctor detects a missing or different pepper, and creates none', async (t) => {
  const { env, settings } = await leaveData(t)
  const pepper = join(settings.dataDir, 'identity-pepper')
  renameSync(pepper, join(tempDir(t), 'kept'))
  const before = inventory(settings.dataDir)
  const missing = await examined(env, 'identity pepper')
  assert.deepEqual([missing.code, missing.verdict], [1, 'fail'], missing.detail)
  assert.match(missing.detail, /identity-pepper is missing in DATA_DIR.* from the backup/)
  assert.deepEqual(inventory(settings.dataDir), before)

  writeFileSync(pepper, `${'ab'.repeat(32)}\n`, { mode: 0o600 })
  const other = await examined(env, 'identity pepper')
  assert.deepEqual([other.code, other.verdict], [1, 'fail'], other.detail)
  assert.match(other.detail, /is not the one that the data were written with/)
  const served = await countersignd(env, 'serve')
  assert.equal(served.code, 2, 'as the service does')

  writeFileSync(pepper, 'salt')
  const none = await examined(env, 'identity pepper')
  assert.deepEqual([none.code, none.verdict], [1, 'fail'], none.detail)
})

test('before the first start doctor reports no failure, and creates nothing', async (t) => {
  const env = await testEnv(t)
  const found = await examined(env, 'identity pepper')
  assert.deepEqual([found.code, found.verdict], [0, 'warn'])
  assert.match(found.detail, /the first start creates it/)
  assert.deepEqual(readdirSync(env.DATA_DIR as string), [])
})

test('doctor misses the pepper of a database in which no node has noted its digest', async (t) => {
  const { env, settings } = await leaveData(t)
  await withRaw(settings, (raw) => raw.exec("DELETE FROM settings WHERE name = 'identity-pepper'"))
  renameSync(join(settings.dataDir, 'identity-pepper'), join(tempDir(t), 'kept'))
  const pepper = await examined(env, 'identity pepper')
  assert.deepEqual([pepper.code, pepper.verdict], [1, 'fail'])
})

test('doctor leaves an empty database empty', async (t) => {
  const env = await testEnv(t)
  const settings = readSettings(env)
  if (ON_POSTGRES)
    await query(env.DATABASE_URL as string, 'drop schema public cascade; create schema public')
  else writeFileSync(fileOf(settings), '', { mode: 0o600 })
  const { code, verdict, detail } = await examined(env, 'database')
  assert.deepEqual([code, verdict], [0, 'warn'], detail)
  assert.match(detail, /migrations to apply: 0001-schema/)
  assert.deepEqual(await withRaw(settings, (raw) => raw.tables()), [])
})

test(
  'doctor reads the file before it reports its mode, and does not change it',
  SQLITE_ONLY,
  async (t) => {
    const { env, settings } = await leaveData(t)
    const file = fileOf(settings)
    chmodSync(file, 0o644)
    const sound = await examined(env, 'database')
    assert.deepEqual([sound.code, sound.verdict], [0, 'warn'])
    assert.match(sound.detail, /^sound, .* chmod 600$/)
    assert.equal(statSync(file).mode & 0o777, 0o644)

    writeFileSync(file, Buffer.alloc(100_000, 0x5a))
    const damaged = await examined(env, 'database')
    assert.deepEqual([damaged.code, damaged.verdict], [1, 'fail'])
    assert.match(damaged.detail, /damaged/)
  },
)

test(
  'the write-ahead log of a killed service is read, and left in place',
  SQLITE_ONLY,
  async (t) => {
    const service = await startServiceProcess(t)
    const { code } = await countersignd(service.env, 'owner', 'add', 'ada', '--name', 'Ada')
    assert.equal(code, 0)
    await service.stop('SIGKILL')
    const dir = service.env.DATA_DIR as string
    const before = inventory(dir)
    assert.ok(statSync(join(dir, 'countersign.db-wal')).size > 0)
    const database = await examined(service.env, 'database')
    assert.equal(database.detail, 'sound, schema up to date')
    assert.deepEqual(inventory(dir), before)
  },
)

test("free disk space is that of the data's file system", SQLITE_ONLY, async (t) => {
  const { env, settings } = await leaveData(t)
  const DATA_DIR = join(tempDir(t), 'elsewhere')
  const apart = { ...env, DATA_DIR, DATABASE_URL: `sqlite:${fileOf(settings)}` }
  const { detail } = await examined(apart, 'free disk')
  assert.match(detail, /^\d+\.\d GiB/)
  assert.equal(existsSync(DATA_DIR), false)
})

test('doctor reports invalid settings like the service: exit 2', async (t) => {
  const env = { ...(await testEnv(t)), TRUSTED_PROXIES: '0.0.0.0/0' }
  for (const command of ['doctor', 'serve']) {
    const { code, stdout, stderr } = await countersignd(env, command)
    assert.equal(code, 2, stderr)
    assert.match(stderr, /TRUSTED_PROXIES must be .* every caller would be trusted/)
    assert.equal(stdout, '')
  }
})

test('doctor warns of a port that the network reaches without a proxy', async (t) => {
  const env = await testEnv(t)
  for (const [more, verdict] of [
    [{ HOST: '0.0.0.0' }, 'warn'],
    [{ HOST: '::' }, 'warn'],
    [{ HOST: '0.0.0.0', TRUSTED_PROXIES: '10.0.0.1' }, 'ok'],
    [{ HOST: '127.0.0.1' }, 'ok'],
    [{ HOST: 'localhost' }, 'ok'],
  ] as const) {
    const found = await examined({ ...env, ...more }, 'proxy')
    assert.equal(found.verdict, verdict, JSON.stringify(more))
    if (verdict === 'warn') assert.match(found.detail, /TRUSTED_PROXIES is empty/)
  }
})
