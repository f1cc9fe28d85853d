import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { CodedError } from '@countersign/protocol'
import type { Command } from 'commander'
import { digestOfPepper } from '../../accounts/identity/pepper-check.ts'
import { type Env, readSettings } from '../../base/config.ts'
import {
  type ImportedTable,
  ImportRefusal,
  importSqlite,
} from '../../database/maintenance/import-sqlite.ts'
import { lockDatabase } from '../../database/sqlite/process-lock.ts'
import { loadPepper } from '../../secrets/secrets.ts'
import { print, table } from './output.ts'

export function importCommand(program: Command, env: Env): void {
  program
    .command('import')
    .description(
      'move the data of a SQLite file into the PostgreSQL of DATABASE_URL, all or nothing',
    )
    .requiredOption('--from <file>', 'the file; no server may run on it, and it stays as it is')
    .action(async ({ from }: { from: string }, command: Command) => {
      const tables = await importFrom(env, resolve(from))
      const rows = tables.map((each) => [each.table, String(each.rows), each.digest.slice(0, 16)])
      const text = table(['TABLE', 'ROWS', 'SHA-256'], rows)
      print(command, tables, `${text}\nEvery row was read again and compared.`)
    })
}

async function importFrom(env: Env, file: string): Promise<ImportedTable[]> {
  const settings = readSettings(env)
  const { database } = settings
  if (database.kind !== 'postgres') {
    throw new CodedError(
      'VALIDATION_ERROR',
      'DATABASE_URL must name the PostgreSQL to import into.',
    )
  }
  if (!existsSync(file)) throw new CodedError('VALIDATION_ERROR', `There is no ${file}.`)
  const unlock = lockDatabase(file)
  try {
    const pepper = loadPepper(settings)
    const marks = { id: pepper.id, setting: digestOfPepper(pepper) }
    return await importSqlite(file, database.url, marks, Date.now)
  } catch (error) {
    if (error instanceof ImportRefusal) throw new CodedError('VALIDATION_ERROR', error.message)
    throw error
  } finally {
    unlock()
  }
}
