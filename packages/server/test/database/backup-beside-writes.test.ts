import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SQLITE_ONLY } from '../../../../test/support/postgres.ts'
import { tempDir } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { backupFile } from '../../src/database/maintenance/backup-file.ts'
import { openSqlite } from '../../src/database/sqlite/sqlite-database.ts'
import { EFFECTS } from '../../src/service/effects.ts'

/** Rows of 1,000 bytes: enough for a backup of many steps. */
const OWNERS = 20_000
const DEADLINE_MS = 60_000
/** Counts its writes in a row. */
const WRITER = `const { DatabaseSync } = require('node:sqlite')
  const db = new DatabaseSync(process.argv[1], { timeout: 5000 })
  db.exec('pragma synchronous = off')
  const write = db.prepare('update owners set created_at = created_at + 1 where id = 1')
  for (;;) write.run()`

test('a backup completes while another process writes continuously', SQLITE_ONLY, async (t) => {
  const dir = tempDir(t)
  const file = join(dir, 'countersign.db')
  await (await openSqlite(file, Date.now, EFFECTS)).close()
  const other = new DatabaseSync(file, { timeout: 5000 })
  t.after(() => other.close())
  other.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${OWNERS})
    insert into owners (id, username, display_name, created_at)
    select i, 'owner' || i, printf('%.1000c', 'x'), 1 from n;
    pragma wal_checkpoint(truncate); pragma synchronous = off`)
  const writer = spawn(process.execPath, ['--no-warnings', '-e', WRITER, file])
  t.after(() => writer.kill('SIGKILL'))
  const select = other.prepare('select created_at as count from owners where id = 1')
  const count = () => (select.get() as { count: number }).count
  await until(async () => count() > 1)

  const before = count()
  const contents = await Promise.race([
    backupFile(file, join(dir, 'backup.db'), async () => undefined),
    sleep(DEADLINE_MS, null, { ref: false }),
  ])
  const writes = count() - before
  assert.ok(contents !== null, 'the backup restarts with every write')
  assert.equal(contents.owners, OWNERS)
  assert.ok(writes > 20, `only ${writes} writes during the backup`)
  assert.ok(existsSync(join(dir, 'backup.db')))
})
