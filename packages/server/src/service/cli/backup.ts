import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { CodedError, didOf, type Naming, type Tail } from '@countersign/protocol'
import type { Command } from 'commander'
import { type Env, readSettings } from '../../base/config.ts'
import {
  backupFile,
  type FileContents,
  NotABackupError,
} from '../../database/maintenance/backup-file.ts'
import type { Setback } from '../../database/maintenance/compare-restored.ts'
import { inspectDatabase } from '../../database/maintenance/inspect.ts'
import { type Restored, restoreFile } from '../../database/maintenance/restore.ts'
import { lockDatabase } from '../../database/sqlite/process-lock.ts'
import { migrateFile } from '../../database/sqlite/sqlite-database.ts'
import { LogAnchor } from '../../log/anchor.ts'
import { haltOf } from '../../log/halted.ts'
import { verifyStored } from '../../log/verify-stored.ts'
import { SHARED_SECRETS } from '../../secrets/secret-files.ts'
import { Erasures } from '../privacy/erasures.ts'
import { withData } from './command-context.ts'
import { print, ReportedFailure } from './output.ts'

export function backupCommands(program: Command, env: Env): void {
  program
    .command('backup')
    .description('back up the data to a file, also while the server runs, and verify the copy')
    .argument('<file>', 'a file that does not exist yet')
    .action(async (file: string, _options: unknown, command: Command) => {
      const target = resolve(file)
      if (existsSync(target)) throw new CodedError('VALIDATION_ERROR', `${target} exists already.`)
      const source = databaseFile(
        env,
        'pg_dump "$DATABASE_URL" makes a backup of it, also while the service runs',
      )
      // Opening the data creates the database if there is none.
      const contents = await withData(env, () => backupFile(source, target, verifyCopy)).catch(
        explainDamage,
      )
      print(
        command,
        { file: target, ...contents },
        `Saved ${target}: ${summary(contents)}. It was read again, and is sound.
Back up the keys too: countersignd export-keys writes ${SHARED_SECRETS.join(', ')} to an encrypted file. Never restore \`log-head\`, \`witness-head\` or \`witness-key\`.`,
      )
    })

  program
    .command('restore')
    .description(
      'restore a backup; the server must be stopped. Exit code 3: the log will be halted',
    )
    .argument('<file>', 'a file made by countersignd backup')
    .action(async (file: string, _options: unknown, command: Command) => {
      const { contents, previousFile: kept, setback } = await restore(env, resolve(file))
      const { naming, database, dataDir } = readSettings(env)
      const anchor = new LogAnchor(dataDir).read()
      const halted = await inspectDatabase(database, ({ db }) => haltOf(db, anchor))
      const dids = setback && setbackOf(naming, setback)
      const erased = await restoredAccounts(env)
      print(
        command,
        {
          restored: resolve(file),
          kept,
          ...contents,
          lost: dids,
          erased,
          log: halted?.code ?? 'ok',
        },
        [
          `Restored ${resolve(file)}: ${summary(contents)}.`,
          ...(kept === null
            ? []
            : [
                `The previous data are in ${kept}. Delete that file when you no longer need it: erased accounts may be in it.`,
              ]),
          ...(dids === null ? [] : describeSetback(dids)),
          ...eraseAgain(erased),
          ...(halted === null ? [] : [`The log will be halted. ${halted.message}`]),
        ].join('\n'),
      )
      if (halted !== null) throw new ReportedFailure(LOG_HALTED)
    })
}

/** The exit code of a restore after which the log is halted. */
const LOG_HALTED = 3
/** DIDs in the text; all are in the JSON. */
const MOST_NAMED = 20

/** The DIDs of agents that a restore has taken back. */
function setbackOf(naming: Naming, { entries, status, keys, agents }: Setback): Setback {
  const dids = (tails: readonly string[]) => tails.map((tail) => didOf(naming, tail as Tail))
  return { entries, status: dids(status), keys: dids(keys), agents: dids(agents) }
}

function describeSetback({ entries, status, keys, agents }: Setback): string[] {
  const list = (what: string, dids: readonly string[]) => {
    const more = dids.length > MOST_NAMED ? [`  and ${dids.length - MOST_NAMED} more`] : []
    const named = dids.slice(0, MOST_NAMED).map((did) => `  ${did}`)
    return [`${what}: ${dids.length}`, ...named, ...more]
  }
  return [
    `Entries of the log that the backup lacks: ${entries}`,
    ...list('Agents whose status goes back', status),
    ...list('Agents whose key goes back', keys),
    ...list('Agents that the backup lacks', agents),
  ]
}

/** A changed entry of the log leaves the pages of the file intact. @throws NotABackupError */
async function verifyCopy(file: string): Promise<void> {
  const place = { kind: 'sqlite', file } as const
  const fault = await inspectDatabase(place, ({ db }) => verifyStored(db))
  if (fault !== null) throw new NotABackupError(`The transparency log is damaged: ${fault}.`)
}

function explainDamage(error: unknown): never {
  if (!(error instanceof NotABackupError)) throw error
  throw new Error(
    `No backup was made. ${error.message} Most often the database itself is: countersignd doctor reads it.`,
    { cause: error },
  )
}

function summary({ owners, agents, events }: FileContents): string {
  return `${agents} agents, ${owners} owners, ${events} events`
}

async function restore(env: Env, file: string): Promise<Restored> {
  const target = databaseFile(
    env,
    'pg_restore puts a backup into a new database, and DATABASE_URL names that one from then on',
  )
  const unlock = lockDatabase(target)
  try {
    const restored = await restoreFile(file, target, Date.now())
    await migrateFile(target, Date.now)
    return restored
  } catch (error) {
    if (error instanceof NotABackupError) throw new CodedError('VALIDATION_ERROR', error.message)
    throw error
  } finally {
    unlock()
  }
}

/** The usernames of the accounts that this node knows were erased, and that are back. */
async function restoredAccounts(env: Env): Promise<string[]> {
  const { database, dataDir } = readSettings(env)
  const found = await inspectDatabase(database, ({ db }) => new Erasures(dataDir).restoredIn(db))
  return found.map(({ username }) => username)
}

function eraseAgain(usernames: readonly string[]): string[] {
  if (usernames.length === 0) return []
  const commands = usernames.map((each) => `  countersignd owner delete ${each}`)
  return ['These accounts were erased after the backup. Erase them again:', ...commands]
}

/** @param instead what to use with PostgreSQL @throws CodedError VALIDATION_ERROR if the data is in PostgreSQL */
function databaseFile(env: Env, instead: string): string {
  const { database } = readSettings(env)
  if (database.kind === 'sqlite') return database.file
  throw new CodedError('VALIDATION_ERROR', `The data are in PostgreSQL: ${instead}.`)
}
