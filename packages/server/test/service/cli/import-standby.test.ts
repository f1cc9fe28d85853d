import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { POSTGRES_ONLY, query, startPostgres } from '../../../../../test/support/postgres.ts'
import { tempDir } from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import { UnknownOutcome } from '../../../src/database/database.ts'
import { importSqlite } from '../../../src/database/maintenance/import-sqlite.ts'
import { openSqlite } from '../../../src/database/sqlite/sqlite-database.ts'
import { EFFECTS } from '../../../src/service/effects.ts'

const PEPPER = { id: 'p', setting: { name: 'identity-pepper', value: 'v' } }

test(
  'an import that the standby has not received is not reported as done',
  POSTGRES_ONLY,
  async (t) => {
    const file = join(tempDir(t), 'countersign.db')
    await (await openSqlite(file, Date.now, EFFECTS)).close()
    const server = await startPostgres()
    t.after(() => server.stop())
    const admin = `${server.url}/postgres`
    await query(admin, "alter system set synchronous_standby_names = 'nobody'")
    await query(admin, 'alter system set synchronous_commit = off')
    await query(admin, 'select pg_reload_conf()')
    const shown = 'select current_setting($$synchronous_commit$$) as setting'
    await until(async () => (await query(admin, shown))[0]?.setting === 'off', 20_000)

    const url = `${server.url}/countersign_template`
    const refused = assert.rejects(importSqlite(file, url, PEPPER, Date.now), UnknownOutcome)
    const cancel = `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`
    await until(async () => (await query(admin, cancel)).length > 0, 20_000)
    await refused
  },
)
