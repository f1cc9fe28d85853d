import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { SQLITE_ONLY } from '../../../../test/support/postgres.ts'
import { tempDir } from '../../../../test/support/service.ts'
import { backupFile } from '../../src/database/maintenance/backup-file.ts'
import { openSqlite } from '../../src/database/sqlite/sqlite-database.ts'
import { EFFECTS } from '../../src/service/effects.ts'

/** Rows of 1,000 bytes: enough for a backup of many steps. */
const OWNERS = 20_000
const DEADLINE_MS = 60_000

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
  const write = other.prepare('update owners set created_at = created_at + 1 where id = 1')

  let isOver = false
  const ended = Promise.race([
    backupFile(file, join(dir, 'backup.db'), async () => undefined),
    sleep(DEADLINE_MS, 'timed out', { ref: false }),
  ]).finally(() => {
    isOver = true
  })
  let writes = 0
  for (; !isOver; await nextTurn()) {
    write.run()
    writes += 1
  }
  const contents = await ended
  assert.ok(typeof contents === 'object', 'the backup restarts with every write')
  assert.equal(contents.owners, OWNERS)
  assert.ok(writes > 20, `only ${writes} writes during the backup`)
  assert.ok(existsSync(join(dir, 'backup.db')))
})
