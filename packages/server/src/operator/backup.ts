import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { CodedError } from '@countersign/protocol'
import type { Command } from 'commander'
import { readSettings } from '../config.ts'
import { lockDatabase } from '../storage/process-lock.ts'
import { NotABackupError, restoreFile } from '../storage/restore.ts'
import { backupFile, migrateFile } from '../storage/sqlite-database.ts'
import { withData } from './context.ts'
import { print } from './output.ts'

export function backupCommands(program: Command): void {
  program
    .command('backup')
    .description('copy the data to a file, also while the server runs')
    .argument('<file>', 'a file that does not exist yet')
    .action(async (file: string, _options: unknown, command: Command) => {
      const target = resolve(file)
      if (existsSync(target)) throw new CodedError('VALIDATION_ERROR', `${target} exists already.`)
      const source = requireFile('pg_dump makes a backup of it, also while the service runs')
      // Which makes the database where there is none.
      await withData(() => backupFile(source, target))
      print(
        command,
        { file: target },
        `Saved ${target}. Keep ${'`identity-pepper`'} from the data directory with it.`,
      )
    })

  program
    .command('restore')
    .description('replace the data by a backup; the server must be stopped')
    .argument('<file>', 'a file made by countersignd backup')
    .action(async (file: string, _options: unknown, command: Command) => {
      const kept = await restore(resolve(file))
      const before = kept === null ? '' : ` What was there is kept in ${kept}.`
      print(command, { restored: resolve(file), kept }, `Restored ${resolve(file)}.${before}`)
    })
}

async function restore(file: string): Promise<string | null> {
  const databaseFile = requireFile('pg_restore puts a backup in its place')
  const unlock = lockDatabase(databaseFile)
  try {
    const kept = await restoreFile(file, databaseFile, Date.now())
    await migrateFile(databaseFile, Date.now)
    return kept
  } catch (error) {
    if (error instanceof NotABackupError) throw new CodedError('VALIDATION_ERROR', error.message)
    throw error
  } finally {
    unlock()
  }
}

/** @throws CodedError where the data are not in a file */
function requireFile(instead: string): string {
  const { database } = readSettings(process.env)
  if (database.kind === 'sqlite') return database.file
  throw new CodedError('VALIDATION_ERROR', `The data are in PostgreSQL: ${instead}.`)
}
