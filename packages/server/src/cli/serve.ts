import type { Command } from 'commander'
import { type Logger, pino } from 'pino'
import { exitCodeOf, messageOf } from '../cluster/exit-codes.ts'
import { readSettings, type Settings } from '../config/config.ts'
import { migrateDatabase } from '../core/database/open-database.ts'
import type { Service } from '../service/service.ts'
import { print } from './output.ts'

export function serveCommands(program: Command): void {
  program.command('serve').description('run the service until SIGTERM or SIGINT').action(serve)

  program
    .command('migrate')
    .description('bring the schema of the database up to date (serve does so too)')
    .action(async (_options: unknown, command: Command) => {
      const applied = await migrateDatabase(readSettings(process.env).database, Date.now)
      const text = applied.length === 0 ? 'Nothing to do.' : `Applied ${applied.join(', ')}.`
      print(command, { applied }, text)
    })
}

async function serve(): Promise<void> {
  const settings = readSettings(process.env)
  const log = pino({ level: settings.logLevel })
  // Before the start: it answers requests from its first second, and process 1 of a container heeds no signal by itself.
  const stop = askedToStop(log)
  const service = await start(settings, log)
  log.info(
    { address: service.address },
    `${settings.serviceName} serves ${settings.baseUrl.origin}`,
  )
  void stop
    .then(() => service.stop())
    .then(
      () => log.info('stopped'),
      (error) => {
        log.fatal(messageOf(error))
        process.exitCode = exitCodeOf(error)
      },
    )
}

/** Resolves with the first SIGTERM or SIGINT. */
function askedToStop(log: Logger): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isAsked = false
  const ask = (signal: NodeJS.Signals) => {
    // A second signal is someone who does not want to wait.
    if (isAsked) process.exit(1)
    isAsked = true
    log.info({ signal }, 'stopping')
    resolve()
  }
  process.on('SIGTERM', ask).on('SIGINT', ask)
  return promise
}

/** Every other command does without the whole of it, and so does a process whose workers have it. */
async function start(settings: Settings, log: Logger): Promise<Service> {
  if (settings.workers > 1) {
    const { startWorkers } = await import('../cluster/primary.ts')
    return startWorkers(settings, log)
  }
  const { startService } = await import('../service/service.ts')
  return startService(settings, log)
}
