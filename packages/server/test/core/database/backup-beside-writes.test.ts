import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { tempDir } from '../../../../../test/support/service.ts'
import { backupFile } from '../../../src/core/database/maintenance/backup-file.ts'
import { openSqlite } from '../../../src/core/database/sqlite/sqlite-database.ts'

/** Of 1,000 bytes each: enough for many steps of a backup. */
const OWNERS = 20_000
const DEADLINE_MS = 60_000

test('a backup ends though others write all the time', SQLITE_ONLY, async (t) => {
  const dir = tempDir(t)
  const file = join(dir, 'countersign.db')
  await (await openSqlite(file, Date.now)).close()
  const other = new DatabaseSync(file, { timeout: 5000 })
  t.after(() => other.close())
  other.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${OWNERS})
    insert into owners (id, username, display_name, created_at)
    select i, 'owner' || i, printf('%.1000c', 'x'), 1 from n;
    pragma wal_checkpoint(truncate); pragma synchronous = off`)
  const write = other.prepare('update owners set created_at = created_at + 1 where id = 1')

  let isOver = false
  const ended = Promise.race([
    backupFile(file, join(dir, 'backup.db')),
    sleep(DEADLINE_MS, 'not in time', { ref: false }),
  ]).finally(() => {
    isOver = true
  })
  let writes = 0
  for (; !isOver; await nextTurn()) {
    write.run()
    writes += 1
  }
  const contents = await ended
  assert.ok(typeof contents === 'object', 'it begins again with every write')
  assert.equal(contents.owners, OWNERS)
  assert.ok(writes > 20, `only ${writes} writes came in between`)
  assert.ok(existsSync(join(dir, 'backup.db')))
})
