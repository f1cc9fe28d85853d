import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { CodedError } from '@countersign/protocol'
import type { Command } from 'commander'
import { readSettings } from '../config/config.ts'
import {
  backupFile,
  type FileContents,
  NotABackupError,
} from '../core/database/maintenance/backup-file.ts'
import { type Restored, restoreFile } from '../core/database/maintenance/restore.ts'
import { lockDatabase } from '../core/database/sqlite/process-lock.ts'
import { migrateFile } from '../core/database/sqlite/sqlite-database.ts'
import { withData } from './context.ts'
import { print } from './output.ts'

export function backupCommands(program: Command): void {
  program
    .command('backup')
    .description('copy the data to a file, also while the server runs, and read the copy again')
    .argument('<file>', 'a file that does not exist yet')
    .action(async (file: string, _options: unknown, command: Command) => {
      const target = resolve(file)
      if (existsSync(target)) throw new CodedError('VALIDATION_ERROR', `${target} exists already.`)
      const source = requireFile(
        'pg_dump "$DATABASE_URL" makes a backup of it, also while the service runs',
      )
      // Which makes the database where there is none.
      const contents = await withData(() => backupFile(source, target)).catch(tellOfDamage)
      print(
        command,
        { file: target, ...contents },
        `Saved ${target}: ${described(contents)}. It was read again, and is sound.
Keep \`identity-pepper\` from the data directory too.`,
      )
    })

  program
    .command('restore')
    .description('replace the data by a backup; the server must be stopped')
    .argument('<file>', 'a file made by countersignd backup')
    .action(async (file: string, _options: unknown, command: Command) => {
      const { contents, previousFile: kept } = await restore(resolve(file))
      const before = kept === null ? '' : `\nWhat was there is kept in ${kept}.`
      print(
        command,
        { restored: resolve(file), kept, ...contents },
        `Restored ${resolve(file)}: ${described(contents)}.${before}`,
      )
    })
}

function tellOfDamage(error: unknown): never {
  if (!(error instanceof NotABackupError)) throw error
  throw new Error(
    `No backup was made. ${error.message} Most often the database itself is: countersignd doctor reads it.`,
    { cause: error },
  )
}

function described({ owners, agents, events }: FileContents): string {
  return `${agents} agents, ${owners} owners, ${events} events`
}

async function restore(file: string): Promise<Restored> {
  const databaseFile = requireFile(
    'pg_restore puts a backup into a new database, and DATABASE_URL names that one from then on',
  )
  const unlock = lockDatabase(databaseFile)
  try {
    const restored = await restoreFile(file, databaseFile, Date.now())
    await migrateFile(databaseFile, Date.now)
    return restored
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
