import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { randomTail } from '@countersign/protocol'
import { freePort } from '../../../../test/support/ports.ts'
import { SQLITE_ONLY } from '../../../../test/support/postgres.ts'
import { fileOf, withRaw } from '../../../../test/support/raw-database.ts'
import {
  claimAgent,
  countersignd,
  ROOT,
  startServiceProcess,
  startTestService,
  tempDir,
  testEnv,
} from '../../../../test/support/service.ts'

const BUILT = join(ROOT, 'packages/server/bin/countersignd.mjs')

test('files that the first start creates are readable by their user only', async (t) => {
  const service = await startServiceProcess(t, { DATA_DIR: join(tempDir(t), 'new', 'data') })
  const { DATA_DIR } = service.env as { DATA_DIR: string }
  await countersignd(service.env, 'owner', 'list')
  assert.equal(statSync(DATA_DIR).mode & 0o777, 0o700)
  for (const name of readdirSync(DATA_DIR)) {
    assert.equal(statSync(join(DATA_DIR, name)).mode & 0o077, 0, name)
  }
  assert.match(readFileSync(join(DATA_DIR, 'identity-pepper'), 'utf8'), /^[0-9a-f]{64}\n$/)
})

test(
  'a second service on the same data is rejected with a clear message, and the first keeps running',
  SQLITE_ONLY,
  async (t) => {
    const first = await startTestService(t)
    const second = await countersignd(
      { ...(await testEnv(t)), DATA_DIR: first.env.DATA_DIR as string },
      'serve',
    )
    assert.equal(second.code, 5)
    assert.match(second.stderr, /Another countersignd already uses this data/)
    assert.equal((await fetch(`${first.url}/readyz`)).status, 200)
  },
)

test('the lock is released when the process ends, even with kill -9', SQLITE_ONLY, async (t) => {
  const first = await startServiceProcess(t)
  await first.stop('SIGKILL')
  const second = await startServiceProcess(t, { DATA_DIR: first.env.DATA_DIR as string })
  assert.equal((await fetch(`${second.url}/readyz`)).status, 200)
})

test('a port in use is reported with a clear message', async (t) => {
  const first = await startTestService(t)
  const env = { ...(await testEnv(t)), PORT: first.env.PORT as string }
  const second = await countersignd(env, 'serve')
  assert.equal(second.code, 5)
  assert.match(second.stderr, /EADDRINUSE.*Set PORT or METRICS_PORT to a free port/)
})

test('all invalid settings are listed, and nothing is created', async (t) => {
  const env = await testEnv(t, { DATA_DIR: join(tempDir(t), 'never') })
  const { code, stderr } = await countersignd(
    { ...env, PORT: 'x', BASE_URL: 'secret-value' },
    'serve',
  )
  assert.equal(code, 2)
  assert.match(stderr, /PORT must be .*\n.*BASE_URL must be /)
  assert.ok(!stderr.includes('secret-value'))
  assert.equal(existsSync(env.DATA_DIR as string), false)
})

test('a database of a newer release is rejected', async (t) => {
  const service = await startTestService(t)
  await service.stop()
  await withRaw(service.settings, (raw) =>
    raw.exec("INSERT INTO schema_migrations VALUES ('9999-future', 0)"),
  )
  const { code, stderr } = await countersignd(service.env, 'serve')
  assert.equal(code, 5)
  assert.match(stderr, /9999-future/)
})

test('a damaged database file is detected at startup', SQLITE_ONLY, async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  for (let i = 0; i < 30; i++) await claimAgent(service, owner)
  await service.stop()
  damage(fileOf(service.settings))
  const { code, stderr } = await countersignd(service.env, 'serve')
  assert.notEqual(code, 0)
  assert.match(stderr, /damaged|malformed/)
})

test(
  'a database page damaged while the service runs causes 503, never 404',
  SQLITE_ONLY,
  async (t) => {
    const service = await startTestService(t, { READ_MODEL_AGENTS: '1' })
    const did = await claimAgent(service, await service.operator.addVerifiedOwner())
    // More than fits SQLite's page cache, so that the disk is read.
    const tails = multiply(fileOf(service.settings), did.slice(-24), 30_000)
    damage(fileOf(service.settings))
    const statuses = new Set<number>()
    for (const tail of tails.slice(0, 50)) {
      const response = await fetch(`${service.url}/api/v1/agent/${tail}`)
      const body = (await response.json()) as { error?: { code: string } }
      statuses.add(response.status)
      assert.equal(body.error?.code, response.status === 200 ? undefined : 'UNAVAILABLE')
    }
    assert.ok(statuses.has(503), [...statuses].join())
    assert.ok([...statuses].every((each) => each === 200 || each === 503))
  },
)

test(
  'another thread reads many agents: all are in memory once the service is ready, also those changed since their claim',
  SQLITE_ONLY,
  async (t) => {
    const first = await startTestService(t)
    const did = await claimAgent(first, await first.operator.addVerifiedOwner())
    await first.stop()
    const file = fileOf(first.settings)
    const tails = multiply(file, did.slice(-24), 60_000)
    const [suspended] = tails.splice(40_000, 1)
    await withRaw(first.settings, (raw) =>
      raw.exec(
        `UPDATE agents SET status = 'suspended', status_changed_at = 1, version = version + 1 WHERE tail = '${suspended}'`,
      ),
    )
    const METRICS_PORT = String(await freePort())
    const env = { DATA_DIR: first.env.DATA_DIR as string, METRICS_PORT }
    const service = await startServiceProcess(t, env, BUILT)
    const metrics = await (await fetch(`http://localhost:${METRICS_PORT}/metrics`)).text()
    assert.match(metrics, /^countersign_agents_in_memory 60001$/m)
    const statusOf = async (tail: string) => {
      const response = await fetch(`${service.url}/api/v1/agent/${tail}`)
      return ((await response.json()) as { certificate: { status: string } }).certificate.status
    }
    for (const tail of [did, tails[0], tails.at(-1)]) {
      assert.equal(await statusOf(tail as string), 'active')
    }
    assert.equal(await statusOf(suspended as string), 'suspended')
  },
)

/** Inserts copies of an agent under other tails and keys. @returns the tails */
function multiply(databaseFile: string, tail: string, count: number): string[] {
  const file = new DatabaseSync(databaseFile)
  const row = file.prepare('SELECT * FROM agents WHERE tail = ?').get(tail) as Record<string, null>
  const columns = Object.keys(row)
  const insert = file.prepare(
    `INSERT INTO agents (${columns.join()}) VALUES (${columns.map((name) => `:${name}`).join()})`,
  )
  const tails = Array.from({ length: count }, () => randomTail(randomBytes))
  file.exec('BEGIN')
  for (const [i, each] of tails.entries()) {
    insert.run({ ...row, seq: 1000 + i, tail: each, public_key: randomBytes(32) })
  }
  file.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
  file.close()
  return tails
}

/** Overwrites every page of the file but the first, which holds the schema. */
function damage(file: string): void {
  const noise = Buffer.alloc(statSync(file).size - 4096, 0xa5)
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, noise, 0, noise.length, 4096)
  closeSync(descriptor)
}
