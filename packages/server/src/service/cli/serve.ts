import { lookup } from 'node:dns/promises'
import { accessSync, constants, mkdirSync, readdirSync } from 'node:fs'
import { EXIT } from '@countersign/protocol'
import type { Command } from 'commander'
import type { Logger } from 'pino'
import {
  type Env,
  misspeltSettings,
  readSettings,
  type Settings,
  SettingsError,
} from '../../base/config.ts'
import { openLog } from '../../base/open-log.ts'
import { migrateDatabase } from '../../database/open-database.ts'
import { exitCodeOf, messageOf } from '../cluster/exit-codes.ts'
import type { Service } from '../service.ts'
import { print } from './output.ts'

export function serveCommands(program: Command, env: Env): void {
  program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT')
    .action(() => serve(env))

  program
    .command('migrate')
    .description('update the schema of the database (serve does so, too)')
    .action(async (_options: unknown, command: Command) => {
      const applied = await migrateDatabase(readSettings(env).database, Date.now)
      const text = applied.length === 0 ? 'Nothing to do.' : `Applied ${applied.join(', ')}.`
      print(command, { applied }, text)
    })
}

async function serve(env: Env): Promise<void> {
  const settings = readSettings(env)
  const log = openLog(settings.logLevel)
  for (const { name, meant } of misspeltSettings(env)) {
    log.warn({ setting: name }, `${name} is not a setting. Did you mean ${meant}?`)
  }
  // Before the start: process 1 of a container ignores signals without a handler.
  const signals = catchStopSignals(log)
  const service = await assertUsable(settings)
    .then(() => start(settings, log, env))
    .catch((error: unknown) => {
      signals.release()
      throw error
    })
  log.info(
    { address: service.address },
    `${settings.serviceName} serves ${settings.baseUrl.origin}`,
  )
  const damaged = service.damaged.then((error) => {
    log.fatal(messageOf(error))
    process.exitCode = exitCodeOf(error)
  })
  void Promise.race([signals.stop, damaged])
    .then(() => service.stop())
    .then(
      () => log.info('stopped'),
      (error) => {
        log.fatal(messageOf(error))
        process.exitCode = exitCodeOf(error)
      },
    )
}

/**
 * Finds what no start can get past, before anything is opened.
 * @throws SettingsError that names the setting
 */
async function assertUsable({ host, dataDir, keysDir }: Settings): Promise<void> {
  const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    accessSync(dataDir, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new SettingsError([
      `DATA_DIR must be a directory that this user can write to, or create (${codeOf(error)})`,
    ])
  }
  try {
    readdirSync(keysDir)
  } catch (error) {
    throw new SettingsError([
      `KEYS_DIR must be a directory that exists and that this user can read (${codeOf(error)})`,
    ])
  }
  await lookup(host).catch((error: unknown) => {
    throw new SettingsError([
      `HOST must be localhost, or a name or address of this machine: it does not resolve (${codeOf(error)})`,
    ])
  })
}

/** `stop` resolves on the first SIGTERM or SIGINT; the second exits at once. */
function catchStopSignals(log: Logger): { readonly stop: Promise<void>; release(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isStopping = false
  const onSignal = (signal: NodeJS.Signals) => {
    if (isStopping) process.exit(EXIT.failure)
    isStopping = true
    log.info({ signal }, 'stopping')
    resolve()
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  return {
    stop: promise,
    release: () => void process.off('SIGTERM', onSignal).off('SIGINT', onSignal),
  }
}

/** Imports on demand: no other command needs the service, nor does a primary, whose workers run it. */
async function start(settings: Settings, log: Logger, env: Env): Promise<Service> {
  if (settings.workers > 1) {
    const { startWorkers } = await import('../cluster/primary.ts')
    return startWorkers(settings, log)
  }
  const { startService } = await import('../service.ts')
  return startService(settings, log, env)
}
