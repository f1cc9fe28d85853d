import type { Command } from 'commander'
import { pino } from 'pino'
import { readSettings } from '../config.ts'
import { migrateDatabase } from '../storage/open-database.ts'
import { exitCodeOf, messageOf } from './exit.ts'
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
  // Every other command does without the whole of it.
  const { startService } = await import('../service.ts')
  const service = await startService(settings, log)
  log.info(
    { address: service.address },
    `${settings.serviceName} serves ${settings.baseUrl.origin}`,
  )
  let stopping = false
  const stop = (signal: NodeJS.Signals) => {
    // A second signal is someone who does not want to wait.
    if (stopping) process.exit(1)
    stopping = true
    log.info({ signal }, 'stopping')
    service.stop().then(
      () => log.info('stopped'),
      (error) => {
        log.fatal(messageOf(error))
        process.exitCode = exitCodeOf(error)
      },
    )
  }
  process.on('SIGTERM', stop).on('SIGINT', stop)
}
