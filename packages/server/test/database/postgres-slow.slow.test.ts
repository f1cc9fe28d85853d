import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { signalFamily } from '../../../../test/faults/support/processes.ts'
import { databaseOf, POSTGRES_ONLY, startPostgres } from '../../../../test/support/postgres.ts'
import { startServiceProcess, tempDir } from '../../../../test/support/service.ts'
import type { Db } from '../../src/database/database.ts'
import { openPostgres } from '../../src/database/postgres/postgres-database.ts'
import { EFFECTS } from '../../src/service/effects.ts'

test(
  'a read that times out does not make the other connections reconnect',
  POSTGRES_ONLY,
  async (t) => {
    const db = await openPostgres(await databaseOf(tempDir(t)), Date.now, EFFECTS)
    t.after(() => db.close())
    const backend = async (of: Db) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(of)
      return rows[0]?.pid
    }
    const backends = async () => [
      await db.write((tx) => backend(tx.db)),
      await backend(db.eventReader),
    ]
    const before = await backends()
    const slow = sql`select pg_sleep(3)`.execute(db.pointReads)
    let isOver = false
    const refused = assert.rejects(slow).finally(() => {
      isOver = true
    })
    // As a node polls for events.
    while (!isOver) await backend(db.eventReader)
    await refused
    assert.deepEqual(await backends(), before)
  },
)

test('a service stops although its PostgreSQL hangs', POSTGRES_ONLY, async (t) => {
  const server = await startPostgres()
  t.after(() => {
    signalFamily(server.pid, 'SIGCONT')
    return server.stop()
  })
  const service = await startServiceProcess(t, {
    DATABASE_URL: `${server.url}/countersign_template`,
  })
  signalFamily(server.pid, 'SIGSTOP')
  const ended = await Promise.race([
    service.stop('SIGTERM'),
    sleep(60_000, 'still running', { ref: false }),
  ])
  assert.equal(ended, 0, service.output())
})
