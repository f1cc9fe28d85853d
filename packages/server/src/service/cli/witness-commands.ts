import { CodedError, formatVerifierKey } from '@countersign/protocol'
import type { Command } from 'commander'
import type { Env } from '../../base/config.ts'
import { currentKey, witnessedLogs } from '../../log/cosigning/cosigned-log-table.ts'
import { openWitnessKey, replaceWitnessKey } from '../../log/cosigning/witness-key.ts'
import { withData } from './command-context.ts'
import { print } from './output.ts'

export function witnessCommands(program: Command, env: Env): void {
  const witness = program.command('witness').description('the witness of other transparency logs')

  witness
    .command('show')
    .description('show the key of the witness, and what it has cosigned')
    .action(async (_options: unknown, command: Command) => {
      const shown = await withData(env, async ({ db, settings }) => {
        if ((await currentKey(db.read)) === undefined) {
          throw new CodedError(
            'NOT_FOUND',
            'There is no key yet. Set WITNESS_LOGS and start the service once.',
          )
        }
        const { key } = await openWitnessKey(db.read, settings.dataDir)
        const logs = await witnessedLogs(db.read)
        return {
          name: key.name,
          verifierKey: formatVerifierKey(key),
          url: `${settings.baseUrl.origin}/witness`,
          logs: logs.map(({ origin, size }) => ({ origin, size })),
        }
      })
      const { name, verifierKey, url, logs } = shown
      const sizes = logs.map(({ origin, size }) => `${origin}: ${size}`)
      print(command, shown, [`witness ${name} ${verifierKey} ${url}`, ...sizes].join('\n'))
    })

  witness
    .command('new-key')
    .description('make a new key, after the database or DATA_DIR was restored')
    .action(async (_options: unknown, command: Command) => {
      const key = await withData(env, ({ db, settings, now }) => {
        const { dataDir, baseUrl } = settings
        return replaceWitnessKey({ db, dataDir, host: baseUrl.host, now })
      })
      const made = { name: key.name, verifierKey: formatVerifierKey(key) }
      print(
        command,
        made,
        `Made ${made.name}. Copy witness-key and witness-head to DATA_DIR of every other node. Give the new key to all who trust the old one:\n${made.verifierKey}`,
      )
    })
}
