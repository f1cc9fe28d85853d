import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import {
  databaseOf,
  POSTGRES_ONLY,
  query,
  startPostgres,
} from '../../../../test/support/postgres.ts'
import { openRaw } from '../../../../test/support/raw-database.ts'
import { tempDir } from '../../../../test/support/service.ts'
import { type StallingProxy, startStallingProxy } from '../../../../test/support/stalling-proxy.ts'
import { until } from '../../../../test/support/until.ts'
import {
  type Database,
  StorageFailure,
  type Tx,
  UnknownOutcome,
} from '../../src/database/database.ts'
import { NewerSchemaError } from '../../src/database/migrate.ts'
import { migratePostgres, openPostgres } from '../../src/database/postgres/postgres-database.ts'
import { MIGRATIONS } from '../../src/database/schema/migrations/index.ts'
import { EFFECTS } from '../../src/service/effects.ts'

interface Setup {
  readonly url: string
  readonly proxy: StallingProxy
  /** Connected through the proxy. */
  readonly db: Database
}

async function open(t: TestContext): Promise<Setup> {
  const url = await databaseOf(tempDir(t))
  const proxy = await startStallingProxy(t, url)
  const db = await openPostgres(proxy.url, Date.now, EFFECTS)
  t.after(() => db.close())
  return { url, proxy, db }
}

async function append(tx: Tx): Promise<number> {
  const seq = tx.nextSeq()
  const row = { seq, at: 0, type: 'agent.updated', tail: null, owner_id: null, payload: '{}' }
  await tx.db.insertInto('events').values(row).execute()
  return seq
}

async function seqs(url: string): Promise<unknown[]> {
  return (await query(url, 'select seq from events order by seq')).map(({ seq }) => Number(seq))
}

const isCommit = (bytes: Buffer) => bytes.includes('commit_marks') && bytes.includes('commit')

test(
  'bigint comes back as number and bytea as bytes; a bigint beyond 2^53 is an error',
  POSTGRES_ONLY,
  async (t) => {
    const { db } = await open(t)
    const { rows } = await sql<Record<string, unknown>>`select 9007199254740991::bigint as big,
    count(*) as count, '\\x00ff'::bytea as bytes from events`.execute(db.read)
    assert.deepEqual(
      { ...rows[0] },
      { big: Number.MAX_SAFE_INTEGER, count: 0, bytes: new Uint8Array([0, 255]) },
    )
    await assert.rejects(sql`select 9007199254740992::bigint`.execute(db.read), StorageFailure)
    assert.equal(
      (await db.read.selectFrom('events').select('seq').execute()).length,
      0,
      'the connection is still usable',
    )
  },
)

test(
  'if several nodes start at once on an empty database, one of them migrates',
  POSTGRES_ONLY,
  async (t) => {
    const url = new URL(await databaseOf(tempDir(t)))
    await query(url.href, 'drop schema public cascade; create schema public')
    const applied = await Promise.all(
      Array.from({ length: 8 }, () => migratePostgres(url.href, Date.now)),
    )
    assert.deepEqual(
      applied.flat(),
      MIGRATIONS.map(({ name }) => name),
    )
    assert.equal(applied.filter((names) => names.length > 0).length, 1)
    await query(url.href, "insert into schema_migrations values ('9999-future', 0)")
    await assert.rejects(openPostgres(url.href, Date.now, EFFECTS), NewerSchemaError)
  },
)

test(
  'writes of several nodes run one after another, with sequence numbers in commit order',
  POSTGRES_ONLY,
  async (t) => {
    const { url, db } = await open(t)
    const other = await openPostgres(url, Date.now, EFFECTS)
    t.after(() => other.close())
    let inside = 0
    const alone = async (tx: Tx) => {
      inside += 1
      assert.equal(inside, 1, 'two writes run at the same time')
      const seq = await append(tx)
      await tx.db.executeQuery(sql`select pg_sleep(0.002)`.compile(tx.db))
      inside -= 1
      return seq
    }
    const follow = async () => {
      const known = new Set<number>()
      for (let last = 0; last < 100; ) {
        const rows = await db.read
          .selectFrom('events')
          .select('seq')
          .where('seq', '>', last)
          .execute()
        for (const { seq } of rows) known.add(seq)
        last = Math.max(last, ...known)
      }
      return known.size
    }
    const following = follow()
    const numbers = []
    for (let i = 0; i < 25; i++) {
      numbers.push(...(await Promise.all([db, db, other, other].map((node) => node.write(alone)))))
    }
    assert.deepEqual(
      numbers.toSorted((a, b) => a - b),
      Array.from({ length: 100 }, (_, i) => i + 1),
    )
    assert.equal(await following, 100, 'a reader that polls by sequence number misses no event')
  },
)

test(
  'if the connection is lost before the commit, nothing is changed, and the next write succeeds',
  POSTGRES_ONLY,
  async (t) => {
    const { url, proxy, db } = await open(t)
    const failed = db.write(async (tx) => {
      await append(tx)
      proxy.cut()
      return append(tx)
    })
    await assert.rejects(
      failed,
      (error) => error instanceof StorageFailure && !(error instanceof UnknownOutcome),
    )
    assert.deepEqual(await seqs(url), [])
    assert.equal(await db.write(append), 1)
  },
)

test(
  'if the connection is lost during the commit, a write that was committed resolves',
  POSTGRES_ONLY,
  async (t) => {
    const { url, proxy, db } = await open(t)
    assert.equal(await db.write(append), 1)
    let cuts = 0
    proxy.onSent((bytes) => {
      if (!isCommit(bytes) || cuts > 0) return undefined
      cuts += 1
      return 'cut'
    })
    assert.equal(await db.write(append), 2)
    assert.equal(cuts, 1)
    assert.deepEqual(await seqs(url), [1, 2])
  },
)

test(
  'if the commit never reaches the server, the write rejects, and nothing is changed',
  POSTGRES_ONLY,
  async (t) => {
    const { url, proxy, db } = await open(t)
    assert.equal(await db.write(append), 1)
    let lost = 0
    proxy.onSent((bytes) => {
      if (!isCommit(bytes) || lost > 0) return undefined
      lost += 1
      return 'lose'
    })
    await assert.rejects(
      db.write(append),
      (error) => error instanceof StorageFailure && !(error instanceof UnknownOutcome),
    )
    assert.equal(lost, 1)
    assert.deepEqual(await seqs(url), [1])
    assert.equal(await db.write(append), 2)
  },
)

test(
  'if the outcome of a commit cannot be determined, the write rejects with UnknownOutcome',
  POSTGRES_ONLY,
  async (t) => {
    const { url, proxy, db } = await open(t)
    assert.equal(await db.write(append), 1)
    proxy.onSent((bytes) => (isCommit(bytes) ? 'cut' : undefined))
    await assert.rejects(db.write(append), UnknownOutcome)
    proxy.onSent(() => undefined)
    assert.deepEqual(await seqs(url), [1, 2])
    assert.equal(await db.write(append), 3)
  },
)

test(
  'a cancelled wait for the standby is an UnknownOutcome, although the server reports a commit',
  POSTGRES_ONLY,
  async (t) => {
    const server = await startPostgres()
    t.after(() => server.stop())
    const url = `${server.url}/postgres`
    const db = await openPostgres(url, Date.now, EFFECTS)
    t.after(() => db.close())
    assert.equal(await db.write(append), 1)
    await query(url, "alter system set synchronous_standby_names = 'nobody'")
    await query(url, 'select pg_reload_conf()')
    await untilCommitsWait(url)
    const written = db.write(append).then(
      () => 'resolved',
      (error: unknown) => error,
    )
    const waiting =
      "from pg_stat_activity where wait_event = 'SyncRep' and query like '%commit_marks%'"
    await until(async () => (await query(url, `select 1 ${waiting}`)).length === 1, 20_000)
    await query(url, `select pg_cancel_backend(pid) ${waiting}`)
    assert.ok((await written) instanceof UnknownOutcome)
    await query(url, 'alter system reset synchronous_standby_names')
    await query(url, 'select pg_reload_conf()')
    assert.equal(await db.write(append), 3)
  },
)

test(
  'the server ends the session of a node that hangs in a transaction, so that other nodes can write',
  POSTGRES_ONLY,
  async (t) => {
    const { url, proxy, db } = await open(t)
    const other = await openPostgres(url, Date.now, EFFECTS)
    t.after(() => other.close())
    const paused = Promise.withResolvers<void>()
    const hanging = db.write(async (tx) => {
      await append(tx)
      proxy.pause()
      paused.resolve()
      return append(tx)
    })
    const refused = assert.rejects(hanging, StorageFailure)
    await paused.promise
    assert.equal(await other.write(append), 1)
    proxy.resume()
    await refused
    assert.equal(await db.write(append), 2)
  },
)

test('reads and writes keep working after a newer node adds a column', POSTGRES_ONLY, async (t) => {
  const { url, db } = await open(t)
  const readAll = () => db.read.selectFrom('events').selectAll().where('seq', '>', 0).execute()
  const rename = (tx: Tx) =>
    tx.db
      .updateTable('events')
      .set({ type: 'agent.updated' })
      .where('seq', '>', 0)
      .returningAll()
      .execute()
  await db.write(append)
  for (let i = 0; i < 3; i++) await Promise.all([readAll(), readAll(), db.write(rename)])
  const raw = await openRaw({ database: { kind: 'postgres', url } })
  t.after(() => raw.close())
  await raw.exec('alter table events add column later text')
  for (let i = 0; i < 3; i++) await Promise.all([readAll(), readAll(), db.write(rename)])
  assert.equal((await db.write(rename)).length, 1)
})

/** Resolves once a commit waits for a standby: until then the server has not read its settings again. */
async function untilCommitsWait(url: string): Promise<void> {
  const probe = `select pg_logical_emit_message(true, 'test', 'probe')`
  let isOver = false
  const probing = (async () => {
    while (!isOver) await query(url, probe).catch(() => undefined)
  })()
  const waiting = `from pg_stat_activity where wait_event = 'SyncRep' and query like '%emit_message(true%' and pid <> pg_backend_pid()`
  await until(async () => (await query(url, `select 1 ${waiting}`)).length === 1).finally(() => {
    isOver = true
  })
  await query(url, `select pg_cancel_backend(pid) ${waiting}`)
  await probing
}
