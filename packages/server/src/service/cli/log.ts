import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import type { Env } from '../../base/config.ts'
import { LogAnchor } from '../../log/anchor.ts'
import { currentEpoch } from '../../log/log-table.ts'
import { openMirror } from '../../log/mirror.ts'
import { beginEpoch } from '../../log/new-epoch.ts'
import { verifierKeyOf } from '../../log/read-log.ts'
import { recoverLog } from '../../log/recover-log.ts'
import { withData } from './command-context.ts'
import { print } from './output.ts'

export function logCommands(program: Command, env: Env): void {
  const log = program.command('log').description('the transparency log')

  log
    .command('show')
    .description('show the log, its key and its size')
    .action(async (_options: unknown, command: Command) => {
      const found = await withData(env, async ({ db, settings }) => {
        const epoch = await currentEpoch(db.read)
        const anchor = new LogAnchor(settings.dataDir).read()
        return epoch === undefined ? null : { epoch, anchor }
      })
      if (found === null) return print(command, null, 'No log yet: the first start begins it.')
      const { epoch, anchor } = found
      const shown = {
        origin: epoch.origin,
        verifierKey: verifierKeyOf(epoch),
        entries: epoch.size,
        published: epoch.published_size,
        anchored: anchor?.origin === epoch.origin ? anchor.size : null,
      }
      const lines = Object.entries(shown).map(([name, value]) => `${name}: ${value ?? 'no'}`)
      print(command, shown, lines.join('\n'))
    })

  log
    .command('recover')
    .description('add the entries that a restored database has lost, from a copy of the log')
    .requiredOption('--from <mirror>', 'a URL such as https://mirror.example/log, or a directory')
    .action(async ({ from }: { readonly from: string }, command: Command) => {
      const recovered = await withData(env, ({ db, settings, now }) =>
        recoverLog({ db, dataDir: settings.dataDir, now }, openMirror(from)),
      )
      const { entries, applied, keys, unknown } = recovered
      const list = (dids: readonly string[]) => dids.map((did) => `\n  ${did}`).join('')
      print(
        command,
        recovered,
        `Added ${entries} entries. Applied ${applied.length} revocations and suspensions again.${
          keys.length > 0
            ? `\nThe keys of these agents are older than in the log. Their owners must recover them:${list(keys)}`
            : ''
        }${
          unknown.length > 0
            ? `\nThe database does not know these agents. They must be claimed again:${list(unknown)}`
            : ''
        }`,
      )
    })

  log
    .command('new-epoch')
    .description('begin a new log with a new key, if the current one cannot be recovered')
    .action(async (_options: unknown, command: Command) => {
      const begun = await withData(env, ({ db, settings, naming, now }) => {
        const { dataDir, baseUrl } = settings
        return beginEpoch({ db, dataDir, naming, host: baseUrl.host, now, randomBytes })
      })
      print(
        command,
        begun,
        `Began ${begun.origin}. Copy log-key and log-head to DATA_DIR of every other node, restart all nodes, and publish the new key:\n${begun.verifierKey}`,
      )
    })
}
