import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newKey } from '../../../../../test/support/key.ts'
import { prepareClaims, sendClaims } from '../../../../../test/support/many-claims.ts'
import { POSTGRES_ONLY, SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { fileOf, withRaw } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  tempDir,
  testEnv,
} from '../../../../../test/support/service.ts'

/** Of SQLite, in bytes. */
const PAGE = 4096

test(
  'a backup made while the service writes can be restored, and what was there before is kept',
  SQLITE_ONLY,
  async (t) => {
    const service = await startTestService(t)
    const { env, operator, settings } = service
    const backup = join(tempDir(t), 'backup.db')
    const owner = await operator.addVerifiedOwner('ada')
    const key = newKey()
    const did = await claimAgent(service, owner, key)
    const claims = await prepareClaims(operator, 200)
    const writing = sendClaims(service.url, claims, 8, () => undefined)
    const saved = await countersignd(env, 'backup', backup)
    assert.equal(saved.code, 0, saved.stderr)
    assert.match(saved.stdout, /agents, 201 owners, \d+ events\. It was read again, and is sound\./)
    await writing
    assert.equal(statSync(backup).mode & 0o777, 0o600)
    const late = await claimAgent(service, owner, key, 'late')

    const busy = await countersignd(env, 'restore', backup)
    assert.equal(busy.code, 5)
    assert.match(busy.stderr, /already uses this data/)

    await service.stop()
    const restored = JSON.parse((await countersignd(env, 'restore', backup, '--json')).stdout)
    assert.ok(existsSync(restored.kept))
    assert.equal(restored.owners, 201)
    const again = await startTestService(t, { DATA_DIR: settings.dataDir })
    const status = async (each: string) => (await fetch(`${again.url}/api/v1/agent/${each}`)).status
    assert.equal(await status(did), 200)
    assert.equal(await status(late), 404)
  },
)

test('with PostgreSQL, backup and restore refer to its own tools', POSTGRES_ONLY, async (t) => {
  const env = await testEnv(t)
  const file = join(tempDir(t), 'backup.db')
  const saved = await countersignd(env, 'backup', file)
  assert.equal(saved.code, 2)
  assert.match(saved.stderr, /The data are in PostgreSQL: pg_dump "\$DATABASE_URL" makes a backup/)
  assert.equal(existsSync(file), false)
  writeFileSync(file, '')
  const restored = await countersignd(env, 'restore', file)
  assert.equal(restored.code, 2)
  assert.match(restored.stderr, /The data are in PostgreSQL: pg_restore/)
})

test(
  'a damaged or truncated backup is rejected, and the data is unchanged',
  SQLITE_ONLY,
  async (t) => {
    const service = await startTestService(t)
    const { env, settings } = service
    const did = await claimAgent(service, await service.operator.addVerifiedOwner())
    const dir = tempDir(t)
    const sound = join(dir, 'sound.db')
    assert.equal((await countersignd(env, 'backup', sound)).code, 0)
    await service.stop()
    assert.deepEqual(readdirSync(dir), ['sound.db'])
    const bytes = readFileSync(sound)
    const pages = bytes.length / PAGE
    const damaged = [1, Math.floor(pages / 2), pages - 1].map((page) => {
      const copy = Buffer.from(bytes)
      copy.fill(0xa5, page * PAGE, (page + 1) * PAGE)
      return copy
    })
    damaged.push(bytes.subarray(0, Math.floor(pages / 2) * PAGE))
    const before = readdirSync(settings.dataDir).toSorted()
    for (const [i, copy] of damaged.entries()) {
      const file = join(dir, `damaged-${i}.db`)
      writeFileSync(file, copy)
      const { code, stderr } = await countersignd(env, 'restore', file)
      assert.equal(code, 2, `${i}: ${stderr}`)
      assert.match(stderr, /damaged/)
    }
    assert.deepEqual(readdirSync(settings.dataDir).toSorted(), before)
    const again = await startTestService(t, { DATA_DIR: settings.dataDir })
    assert.equal((await fetch(`${again.url}/api/v1/agent/${did}`)).status, 200)
  },
)

test(
  'no backup is made of a damaged database, and no file is left behind',
  SQLITE_ONLY,
  async (t) => {
    const service = await startTestService(t)
    await claimAgent(service, await service.operator.addVerifiedOwner())
    // Nothing but the check reads this page.
    const [{ rootpage }] = (await withRaw(service.settings, (raw) =>
      raw.all("SELECT rootpage FROM sqlite_master WHERE name = 'claim_tokens'"),
    )) as [{ rootpage: number }]
    await service.stop()
    await withRaw(service.settings, (raw) => raw.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
    const file = fileOf(service.settings)
    const bytes = readFileSync(file)
    writeFileSync(file, bytes.fill(0xa5, (rootpage - 1) * PAGE, rootpage * PAGE))
    const dir = tempDir(t)
    const { code, stderr } = await countersignd(service.env, 'backup', join(dir, 'backup.db'))
    assert.equal(code, 1, stderr)
    assert.match(stderr, /No backup was made\. The file is damaged\./)
    assert.deepEqual(readdirSync(dir), [])
  },
)

test('a backup overwrites nothing', SQLITE_ONLY, async (t) => {
  const { env } = await startTestService(t)
  const file = join(tempDir(t), 'precious')
  writeFileSync(file, 'x')
  const { code, stderr } = await countersignd(env, 'backup', file)
  assert.equal(code, 2)
  assert.match(stderr, /exists already/)
})

test('a file that is not a backup is rejected before anything changes', SQLITE_ONLY, async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  await service.stop()
  const file = join(tempDir(t), 'no-backup')
  writeFileSync(file, 'not a database, by far'.repeat(1000))
  for (const each of [file, join(tempDir(t), 'missing')]) {
    const { code } = await countersignd(service.env, 'restore', each)
    assert.equal(code, 2)
  }
  const unreleased = join(tempDir(t), 'unreleased')
  assert.equal((await countersignd(service.env, 'backup', unreleased)).code, 0)
  await withRaw({ database: { kind: 'sqlite', file: unreleased } }, (raw) =>
    raw.exec("UPDATE schema_migrations SET name = '0001-first'"),
  )
  const refused = await countersignd(service.env, 'restore', unreleased)
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /made by a build before the first release/)
  const again = await startTestService(t, { DATA_DIR: service.settings.dataDir })
  assert.equal((await fetch(`${again.url}/api/v1/agent/${did}`)).status, 200)
})

test(
  'a write-ahead log without its file is not applied to the restored database',
  SQLITE_ONLY,
  async (t) => {
    const service = await startTestService(t)
    const { env, operator, settings } = service
    const file = fileOf(settings)
    const backup = join(tempDir(t), 'backup.db')
    await operator.addVerifiedOwner('ada')
    assert.equal((await countersignd(env, 'backup', backup)).code, 0)
    await withRaw(settings, (raw) => raw.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
    // From here on everything is in the log alone, beginning in the middle of the file.
    for (let i = 0; i < 50; i++) await operator.addVerifiedOwner(`late${i}`)
    const log = join(tempDir(t), 'log')
    copyFileSync(`${file}-wal`, log)
    await service.stop()
    for (const each of ['', '-wal', '-shm']) rmSync(file + each, { force: true })
    copyFileSync(log, `${file}-wal`)

    const { code, stdout } = await countersignd(env, 'restore', backup, '--json')
    assert.equal(code, 0)
    assert.equal(JSON.parse(stdout).owners, 1)
    const again = await startTestService(t, { DATA_DIR: settings.dataDir })
    const [found] = await withRaw(again.settings, (raw) =>
      raw.all(
        'SELECT count(*) AS owners, (SELECT * FROM pragma_integrity_check) AS sound FROM owners',
      ),
    )
    assert.deepEqual({ ...found }, { owners: 1, sound: 'ok' })
  },
)
