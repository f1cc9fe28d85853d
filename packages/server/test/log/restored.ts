import assert from 'node:assert/strict'
import { join } from 'node:path'
import { BASE_ENV, type CommandResult, run } from '../../../../test/support/run.ts'
import { ROOT, type TestService } from '../../../../test/support/service.ts'
import type { Database, Tables } from '../../src/database/database.ts'
import { TABLE_KEYS } from '../../src/database/maintenance/import-sqlite.ts'
import { EPOCH_SETTING } from '../../src/database/settings-table.ts'

const TABLES = Object.keys(TABLE_KEYS) as (keyof typeof TABLE_KEYS)[]
/** Each statement has fewer parameters than PostgreSQL allows. */
const ROWS = 500

/** All rows of a database, as a backup has them, on both databases. */
export type Backup = ReadonlyMap<keyof Tables, readonly object[]>

export async function backUp({ read }: Pick<Database, 'read'>): Promise<Backup> {
  const rows = new Map<keyof Tables, object[]>()
  for (const table of TABLES) rows.set(table, await read.selectFrom(table).selectAll().execute())
  return rows
}

/** Puts a backup in the place of the data, as a restore does. The service is stopped. */
export async function putBack(db: Database, backup: Backup): Promise<void> {
  await db.write(async (tx) => {
    for (const table of [...TABLES.toReversed(), 'log_joins' as const])
      await tx.db.deleteFrom(table).execute()
    for (const table of TABLES) {
      const rows = backup.get(table) ?? []
      for (let at = 0; at < rows.length; at += ROWS) {
        await tx.db
          .insertInto(table)
          .values(rows.slice(at, at + ROWS) as never)
          .execute()
      }
    }
    await tx.db.deleteFrom('settings').where('name', '=', EPOCH_SETTING).execute()
  })
}

/** Verifies a log from the beginning, as a stranger does, or what is new since the last time in the same home. */
export function verifyLog({ url }: Pick<TestService, 'url'>, home: string): Promise<CommandResult> {
  const program = join(ROOT, 'packages/cli/bin/countersign.mjs')
  const args = [program, 'log', 'verify', '--log', `${url}/log`, '--json']
  return run(process.execPath, args, { ...BASE_ENV, HOME: home })
}

export async function assertVerifies(service: TestService, home: string): Promise<void> {
  const verified = await verifyLog(service, home)
  assert.equal(verified.code, 0, verified.stdout + verified.stderr)
}
