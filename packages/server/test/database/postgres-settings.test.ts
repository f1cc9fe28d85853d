import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { POSTGRES_ONLY, query, startPostgres } from '../../../../test/support/postgres.ts'
import { until } from '../../../../test/support/until.ts'
import { type Tx, UnknownOutcome } from '../../src/database/database.ts'
import { ignoreUniqueViolation } from '../../src/database/ignore-unique-violation.ts'
import { openPostgres } from '../../src/database/postgres/postgres-database.ts'
import { EFFECTS } from '../../src/service/effects.ts'

const HOST = '127.0.0.1'

// The service must not depend on the settings of the operator's PostgreSQL.

test(
  'unique violations and cancelled commits are recognized on a server with German messages',
  POSTGRES_ONLY,
  async (t) => {
    const url = await startServer(t)
    const db = await openPostgres(await inGerman(t, url), Date.now, EFFECTS)
    t.after(() => db.close())
    await query(
      url,
      "insert into owners (id, username, display_name, created_at) values (1, 'ada', 'Ada', 1)",
    )
    await db.write(insertPasskey)
    const backend = () =>
      db.write(async (tx) => {
        await insertEvent(tx)
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx.db)
        return rows[0]?.pid
      })
    const before = await backend()
    const isFree = await db.write((tx) =>
      ignoreUniqueViolation(tx, ['passkeys_pkey'], () => insertPasskey(tx)),
    )
    assert.equal(isFree, false)
    assert.equal(await backend(), before, 'a rejected statement must not cost the connection')

    await set(url, "synchronous_standby_names = 'nobody'")
    const refused = assert.rejects(db.write(insertEvent), UnknownOutcome)
    await until(async () => {
      const cancelled = await query(
        url,
        "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'",
      )
      return cancelled.length > 0
    }, 20_000)
    await refused
    await set(url, "synchronous_standby_names = ''")
  },
)

test(
  'a commit is durable even if synchronous_commit is switched off while a node runs',
  POSTGRES_ONLY,
  async (t) => {
    const url = await startServer(t)
    const db = await openPostgres(url, Date.now, EFFECTS)
    t.after(() => db.close())
    const setting = () =>
      db.write(async (tx) => {
        const { rows } = await sql<{
          synchronous_commit: string
        }>`show synchronous_commit`.execute(tx.db)
        return rows[0]?.synchronous_commit
      })
    assert.equal(await setting(), 'on')
    await set(url, "synchronous_commit = 'off'")
    assert.equal(await setting(), 'on')
  },
)

async function startServer(t: TestContext): Promise<string> {
  const server = await startPostgres()
  t.after(() => server.stop())
  return `${server.url}/countersign_template`
}

/** Changes a server setting, and returns once new statements see it. */
async function set(url: string, setting: string): Promise<void> {
  const [name, value] = setting.split(' = ') as [string, string]
  await query(url, `alter system set ${setting}`)
  await query(url, 'select pg_reload_conf()')
  await until(async () => {
    const [row] = await query(url, `select current_setting('${name}') as value`)
    return `'${row?.value}'` === value
  }, 20_000)
}

/** A proxy that translates severities as `lc_messages = 'de_DE'` does: field S, but not field V. */
async function inGerman(t: TestContext, url: string): Promise<string> {
  const target = new URL(url)
  const proxy = createServer((client) => {
    const server = connect(Number(target.port), target.hostname)
    client.on('error', () => server.destroy()).pipe(server)
    server.on('error', () => client.destroy()).on('end', () => client.end())
    server.on('data', (bytes: Buffer) => {
      const text = bytes.toString('latin1')
      // Same length, so that the length fields of the messages stay valid.
      const german = text.replaceAll('SERROR\0', 'SFEHLR\0').replaceAll('SWARNING\0', 'SWARNUNG\0')
      client.write(Buffer.from(german, 'latin1'))
    })
  }).listen(0, HOST)
  await once(proxy, 'listening')
  t.after(() => proxy.close())
  const through = new URL(url)
  through.hostname = HOST
  through.port = String((proxy.address() as AddressInfo).port)
  return through.href
}

async function insertPasskey(tx: Tx): Promise<void> {
  await insertEvent(tx)
  const row = { credential_id: 'x', owner_id: 1, public_key: Buffer.alloc(1), counter: 0, name: '' }
  await tx.db
    .insertInto('passkeys')
    .values({ ...row, transports: '[]', backed_up: 0, created_at: 1, last_used_at: null })
    .execute()
}

async function insertEvent(tx: Tx): Promise<void> {
  const row = { at: 0, type: 'agent.updated', tail: null, owner_id: null, payload: '{}' }
  await tx.db
    .insertInto('events')
    .values({ ...row, seq: tx.nextSeq() })
    .execute()
}
