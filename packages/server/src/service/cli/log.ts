import { randomBytes } from 'node:crypto'
import { CodedError, decodeKey, encodeBase64 } from '@countersign/protocol'
import { type Command, InvalidArgumentError } from 'commander'
import type { Env } from '../../base/config.ts'
import { type AcceptedHead, acceptHead } from '../../log/accept.ts'
import { LogAnchor } from '../../log/anchor.ts'
import { currentEpoch } from '../../log/log-table.ts'
import { openMirror } from '../../log/mirror.ts'
import { beginEpoch } from '../../log/new-epoch.ts'
import { verifierKeyOf } from '../../log/read-log.ts'
import { type RecoveredLog, recoverLog } from '../../log/recover-log.ts'
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
      const recovered = await withData(env, ({ db, settings: { dataDir }, now }) =>
        recoverLog({ db, dataDir, now }, openMirror(from)),
      )
      print(command, recovered, describeRecovered(recovered))
    })

  log
    .command('accept')
    .description('accept the newest state of the log that you know, on a machine without log-head')
    .option(
      '--size <n>',
      'its number of entries, from a mirror, a monitor or a witness',
      wholeNumber,
    )
    .option('--root <base64>', 'its root', rootHash)
    .option(
      '--accept-fork <origin>',
      'accept what the database has, if nobody knows a state: entries may be missing, and a second history begins',
    )
    .action(async (options: AcceptOptions, command: Command) => {
      const accepted = acceptedHead(options)
      const { origin, size, root } = await withData(env, ({ db, settings: { dataDir } }) =>
        acceptHead({ db, dataDir }, accepted),
      )
      const shown = { origin, size, root: encodeBase64(root) }
      print(command, shown, `log-head is ${origin} with ${size} entries. The service goes on.`)
    })

  log
    .command('new-epoch')
    .description('begin a new log with a new key, if the current one cannot be recovered')
    .action(async (_options: unknown, command: Command) => {
      const begun = await withData(env, ({ db, settings, naming, now }) => {
        const { host } = settings.baseUrl
        return beginEpoch({ db, folders: settings, naming, host, now, randomBytes })
      })
      print(
        command,
        begun,
        `Began ${begun.origin}. Copy log-key and log-head to DATA_DIR of every other node, restart all nodes, and publish the new key:\n${begun.verifierKey}`,
      )
    })
}

interface AcceptOptions {
  readonly size?: number
  readonly root?: Uint8Array
  readonly acceptFork?: string
}

function acceptedHead({ size, root, acceptFork: forkOf }: AcceptOptions): AcceptedHead {
  if (forkOf !== undefined && size === undefined && root === undefined) return { forkOf }
  if (forkOf === undefined && size !== undefined && root !== undefined) return { size, root }
  throw new CodedError('VALIDATION_ERROR', 'Give --size and --root, or --accept-fork.')
}

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It is a number of entries, at least 1.')
}

function rootHash(text: string): Uint8Array {
  const root = decodeKey(text)
  if (root !== null) return root
  throw new InvalidArgumentError('It is 32 bytes in base64, as in the third line of a checkpoint.')
}

function describeRecovered({ entries, ...applied }: RecoveredLog): string {
  const { rotated, suspended, reactivated, revoked, lost, moved, unknown } = applied
  const list = (text: string, dids: readonly string[]) =>
    dids.length === 0 ? [] : [`${text}:`, ...dids.map((did) => `  ${did}`)]
  return [
    `Added ${entries} entries.`,
    ...list('Have another key', rotated),
    ...list('Suspended', suspended),
    ...list('Reactivated', reactivated),
    ...list('Revoked', revoked),
    ...list('The log has only the thumbprint of their key. Their owners must recover them', lost),
    ...list(
      'Moved to an owner whom the log does not name. Suspended until you reactivate them',
      moved,
    ),
    ...list('The database does not know these agents. They must be claimed again', unknown),
  ].join('\n')
}
