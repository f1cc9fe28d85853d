import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  decodeKey,
  EXIT,
  encodeBase64,
  formatVerifierKey,
  keyThumbprint,
  type LogPolicy,
  type NoteKey,
  namingOfDid,
  PolicyError,
  parsePolicy,
  parseThumbprint,
  parseVerifierKey,
} from '@countersign/protocol'
import { codeOf, Failure, fields, formatMinute } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { exitCodeOf } from '../exit-code.ts'
import { type Invocation, printError, takesService } from '../invocation.ts'
import { LogFault } from '../transparency-log/log-fault.ts'
import { LogSource } from '../transparency-log/log-source.ts'
import { LogStateFile } from '../transparency-log/log-state.ts'
import { MirrorFolder } from '../transparency-log/mirror-folder.ts'
import type { KeyOrigin } from '../transparency-log/open-log.ts'
import { type VerifiedLog, verifyLog } from '../transparency-log/verify-log.ts'
import { isTemporary, LogWatch, learnedWarning } from '../transparency-log/watch-log.ts'
import { USER_AGENT } from '../version.ts'

const VERIFY_HELP = `
The first run verifies the whole log, later ones what is new: the signature of the checkpoint, that it contains everything
that was verified before, the hash of every entry, the chain of entries of each agent, and the signatures of key rotations.
An interrupted run continues where it was.

  $ countersign log verify --log-key id.example/log/1+1d5b7045+AZsf…     with a key that you have from somewhere else
  $ countersign log verify --policy policy.txt                       also the cosignatures of witnesses (C2SP tlog-policy)

Without --log-key, the key that the log names at the first run is trusted, and pinned in the state file.

Exit codes: 0 verified; 4 the log breaks its promise: what shows it is kept in a file; 5 the log cannot be read;
            2 wrong usage; 1 the state file is in use or damaged`

const WATCH_HELP = `
Verifies the log as "log verify" does, and posts an alert (JSON) to the webhook for each entry about one of your agents that
changes its key or claims it, and that no key of yours has signed: a claim, a rotation, a recovery. It also alerts if the log
itself is not as it must be, or cannot be read for 15 minutes. Runs until it is stopped.

  $ countersign log watch --did svc:agent:… --own-key <thumbprint> --webhook https://hooks.example/…

A key that one of your keys has rotated to is yours too. After a recovery of your own, pass the new key with --own-key.`

const MIRROR_HELP = `
Verifies the log as "log verify" does, and keeps a copy of it as files that any web server can serve. Run it on a machine that does not
share its fate with the service: if the database of the service is lost, "countersignd log recover" needs a copy.

  $ countersign log mirror --to /srv/log --log-key id.example/log/1+1d5b7045+AZsf… --every 60s

A log that has become smaller, or has another history than the copy, is refused: the copy stays as it is, and what shows it is kept in
the folder .state of the copy (exit code 4).`

interface LogOptions {
  readonly log?: string
  readonly logKey?: string
  readonly policy?: string
  readonly state?: string
}

interface WatchFlags extends LogOptions {
  readonly did: readonly string[]
  readonly ownKey: readonly string[]
  readonly webhook: string
  readonly interval: string
  readonly once?: true
}

interface MirrorFlags extends Pick<LogOptions, 'logKey' | 'policy'> {
  readonly to: string
  readonly from?: string
  readonly every?: string
}

/** `countersign log verify|watch|mirror`: the transparency log, verified from outside (docs/transparency.md). */
export function logCommand(program: Command, cli: Invocation): void {
  const command = takesService(program.command('log')).description(
    'verify or mirror the transparency log of a service, and watch your agents in it',
  )
  takesLog(command.command('verify'))
    .description('verify the log: all of it, or what is new since the last run')
    .option('--all', 'verify all entries again, also those of earlier runs')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', VERIFY_HELP)
    .action((options: LogOptions & { all?: true }) => verify(options, cli))
  takesLog(command.command('watch'))
    .description('alert about entries on your agents that no key of yours has signed')
    .requiredOption('--did <did>', 'one of your agents; may be repeated', append, [])
    .requiredOption('--webhook <url>', 'where alerts are posted')
    .option(
      '--own-key <key>',
      'a key of yours: thumbprint or public key in base64; may be repeated',
      append,
      [],
    )
    .option('--interval <seconds>', 'between two rounds', '60')
    .option('--once', 'end after one round; exit code 4 if there were alerts')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', WATCH_HELP)
    .action((options: WatchFlags) => watch(options, cli))
  takesService(command.command('mirror'))
    .description('verify the log, and keep a copy of it in a folder')
    .requiredOption('--to <dir>', 'the folder of the copy')
    .option('--from <url>', 'the log, or another mirror (default: /log of the service)')
    .option('--log-key <verifier-key>', 'the key of the log, as verifierKey of /log has it')
    .option('--policy <file>', 'witnesses that must have cosigned (C2SP tlog-policy)')
    .option('--every <time>', 'go on until it is stopped, such as every 60s or 5m')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', MIRROR_HELP)
    .action((options: MirrorFlags) => mirror(options, cli))
}

function takesLog(command: Command): Command {
  return takesService(command)
    .option('--log <url>', 'the log, for example at a mirror (default: /log of the service)')
    .option('--log-key <verifier-key>', 'the key of the log, as verifierKey of /log has it')
    .option('--policy <file>', 'witnesses that must have cosigned (C2SP tlog-policy)')
    .option(
      '--state <file>',
      'what was verified so far (default: a file in ~/.countersign/log for each log)',
    )
}

async function verify(options: LogOptions & { all?: true }, cli: Invocation): Promise<void> {
  const { key, policy, source } = readOptions(options, cli)
  const file = await LogStateFile.lock(statePath(options, source, cli, 'verify'))
  try {
    const state = file.read()
    if (state?.watch != null) {
      throw new Failure('USAGE', `${file.path} is the state of log watch. Choose another file.`)
    }
    const all = options.all === true
    const verified = await verifyLog({ source, key, policy, file, all, watcher: null })
    if (state === null && verified.keyOrigin === 'learned') {
      cli.warn(learnedWarning(formatVerifierKey(verified.key)))
    }
    print(verified, file.path, cli)
  } catch (error) {
    throw await withEvidence(error, file)
  } finally {
    file.release()
  }
}

/** @returns the error, which says where the evidence is */
async function withEvidence(error: unknown, file: LogStateFile): Promise<unknown> {
  if (!(error instanceof LogFault)) return error
  const path = await file.keepEvidence(error.evidence)
  return new Failure(error.code, `${error.message} The evidence is kept in ${path}`, {
    cause: error,
  })
}

const KEY_ORIGINS: Readonly<Record<KeyOrigin, string>> = {
  given: 'given',
  policy: 'from the policy',
  pinned: 'the same as in the first run',
  learned: 'trusted on first use',
}

function print(verified: VerifiedLog, statePath: string, cli: Invocation): void {
  const { checkpoint, key, keyOrigin, cosignatures, entries, violations } = verified
  const { origin, size, root } = checkpoint
  const verifierKey = formatVerifierKey(key)
  const witnesses = cosignatures.map(({ witness, time }) => {
    return { name: witness.name, at: new Date(time * 1000).toISOString() }
  })
  const isValid = verified.violationCount === 0
  const title = isValid
    ? `The log ${origin} is verified: ${size} entries`
    : `The log ${origin} has entries that break its rules: ${verified.violationCount}`
  const rows = [
    ['New', `${entries} entries`],
    ['Root', encodeBase64(root)],
    ['Key', `${verifierKey} (${KEY_ORIGINS[keyOrigin]})`],
    [
      'Witnesses',
      witnesses.length === 0
        ? 'none checked'
        : witnesses.map(({ name, at }) => `${name}, ${formatMinute(at)}`),
    ],
    ['State', statePath],
    ...violations.map(({ message, evidence }) => ['Violation', [message, evidence]] as const),
  ] as const
  cli.print(
    {
      origin,
      size,
      root: encodeBase64(root),
      verifierKey,
      keyOrigin,
      entries,
      witnesses,
      violations,
      violationCount: verified.violationCount,
      state: statePath,
    },
    `${cli.verdict(isValid, title)}\n\n${fields(rows)}`,
  )
  if (!isValid) cli.exitCode = EXIT.refused
}

async function watch(options: WatchFlags, cli: Invocation): Promise<void> {
  const { key, policy, source } = readOptions(options, cli)
  const webhook = readWebhook(options.webhook)
  const dids = options.did.map(readDid)
  const ownKeys = options.ownKey.map(readOwnKey)
  const interval = readInterval(options.interval)
  const file = await LogStateFile.lock(statePath(options, source, cli, 'watch'))
  try {
    const watching = new LogWatch({ source, file, key, policy, dids, ownKeys, webhook }, cli)
    if (options.once) return await watchOnce(watching, file, cli)
    cli.log(`Watching ${dids.join(', ')} in ${source.prefix}, every ${interval} s.`)
    await repeat(cli, interval, () => watchRound(watching, cli))
  } finally {
    file.release()
  }
}

/** Runs rounds, with so many seconds between them, until the process is signalled. */
async function repeat(cli: Invocation, seconds: number, round: () => Promise<void>) {
  let isStopping = false
  const stopped = cli.io.untilSignalled().then(() => {
    isStopping = true
  })
  while (!isStopping) {
    await round()
    const timer = new AbortController()
    const slept = sleep(seconds * 1000, undefined, { signal: timer.signal }).catch(() => null)
    await Promise.race([stopped, slept])
    timer.abort()
  }
}

async function mirror(options: MirrorFlags, cli: Invocation): Promise<void> {
  const seconds = options.every === undefined ? null : readTime(options.every)
  const { from: log, ...rest } = options
  const { key, policy, source } = readOptions(log === undefined ? rest : { ...rest, log }, cli)
  const folder = new MirrorFolder(cli.path(options.to))
  const file = await LogStateFile.lock(folder.statePath)
  const round = async () => {
    const state = file.read()
    await folder.assertIntact(state)
    const verified = await verifyLog({
      source,
      key,
      policy,
      file,
      all: false,
      watcher: null,
      store: folder,
    })
    await folder.publish(verified.signed)
    if (state === null && verified.keyOrigin === 'learned') {
      cli.warn(learnedWarning(formatVerifierKey(verified.key)))
    }
    return verified
  }
  try {
    if (seconds === null) return print(await round(), file.path, cli)
    cli.log(`Mirroring ${source.prefix} to ${cli.path(options.to)}, every ${seconds} s.`)
    await repeat(cli, seconds, async () => {
      try {
        const { entries, checkpoint, violations } = await round()
        for (const { message, evidence } of violations) cli.warn(`${message} ${evidence}`)
        if (entries > 0) cli.log(`${entries} new entries, ${checkpoint.size} in all.`)
      } catch (error) {
        // A log that breaks its promise ends the mirror, so that somebody looks at it.
        const isTemporary = [EXIT.unavailable, EXIT.notFound].includes(exitCodeOf(error) as 3 | 5)
        if (!isTemporary && codeOf(error) !== 'UNEXPECTED_ANSWER') throw error
        printError(cli.io, cli.json, error)
      }
    })
  } catch (error) {
    throw await withEvidence(error, file)
  } finally {
    file.release()
  }
}

function readTime(text: string): number {
  const [, number, unit = 's'] = /^([1-9][0-9]{0,4})([smh]?)$/.exec(text) ?? []
  if (number !== undefined) return Number(number) * { '': 1, s: 1, m: 60, h: 3600 }[unit as 's']
  throw new Failure('USAGE', '--every takes a time such as 60s, 5m or 1h.')
}

async function watchOnce(watching: LogWatch, file: LogStateFile, cli: Invocation): Promise<void> {
  try {
    const { verified, alerts } = await watching.round()
    const { origin, size } = verified.checkpoint
    const isQuiet = alerts.length === 0
    const title = isQuiet
      ? `No unexpected entries: ${size} entries of ${origin} are verified`
      : `Alerts were sent: ${alerts.length}`
    const rows = alerts.map(({ text }) => ['Alert', text] as const)
    const text = isQuiet ? title : `${title}\n\n${fields(rows)}`
    cli.print({ origin, size, alerts }, cli.verdict(isQuiet, title) + text.slice(title.length))
    if (!isQuiet) cli.exitCode = EXIT.refused
  } catch (error) {
    throw await withEvidence(error, file)
  }
}

/** What may pass is reported, and tried again in the next round. */
async function watchRound(watching: LogWatch, cli: Invocation): Promise<void> {
  try {
    const { alerts } = await watching.round()
    for (const { text } of alerts) cli.warn(text)
  } catch (error) {
    if (!isTemporary(error)) throw error
    printError(cli.io, cli.json, error)
  }
}

function readOptions(options: LogOptions, cli: Invocation) {
  const prefix = options.log === undefined ? `${cli.service.origin}/log` : readPrefix(options.log)
  const source = new LogSource(prefix, (input, init) => {
    return cli.io.fetch(input, { ...init, headers: { 'user-agent': USER_AGENT } })
  })
  return { source, key: readKey(options.logKey), policy: readPolicy(options.policy, cli) }
}

function readPrefix(text: string): string {
  const url = URL.parse(text)
  const isPlain = url !== null && url.search === '' && url.hash === '' && url.username === ''
  if (isPlain && /^https?:$/.test(url.protocol)) return url.href.replace(/\/$/, '')
  throw new Failure('USAGE', 'A log has an address such as https://id.example/log.')
}

function readKey(text: string | undefined): NoteKey | null {
  if (text === undefined) return null
  const key = parseVerifierKey(text)
  if (key?.type === 'ed25519') return key
  throw new Failure('USAGE', '--log-key takes the verifier key of a log: name+ID+key.')
}

function readPolicy(path: string | undefined, cli: Invocation): LogPolicy | null {
  if (path === undefined) return null
  try {
    return parsePolicy(readFileSync(cli.path(path), 'utf8'))
  } catch (cause) {
    const why = (cause as Error).message
    const what = cause instanceof PolicyError ? `${path}: ${why}` : `${path} cannot be read: ${why}`
    throw new Failure('USAGE', what, { cause })
  }
}

/** The message does not repeat the address: it may contain a secret. */
function readWebhook(text: string): URL {
  const url = URL.parse(text)
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url?.hostname ?? '')
  const isAllowed = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback)
  if (url !== null && isAllowed && url.username === '') return url
  throw new Failure('USAGE', '--webhook takes an https address without credentials.')
}

function readDid(text: string): string {
  if (namingOfDid(text)?.didPattern.test(text)) return text
  throw new Failure('USAGE', '--did takes a DID such as svc:agent:…')
}

function readOwnKey(text: string): string {
  const publicKey = decodeKey(text)
  if (publicKey !== null) return keyThumbprint(publicKey)
  if (parseThumbprint(text) !== null) return text
  throw new Failure(
    'USAGE',
    '--own-key takes a thumbprint (43 characters) or a public key in base64.',
  )
}

function readInterval(text: string): number {
  const seconds = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0
  if (seconds > 0) return seconds
  throw new Failure('USAGE', '--interval takes a number of seconds, at least 1.')
}

function statePath(
  { state }: LogOptions,
  { prefix }: LogSource,
  cli: Invocation,
  purpose: 'verify' | 'watch',
): string {
  if (state !== undefined) return cli.path(state)
  const name = prefix.replace(/^https?:\/\//, '').replaceAll(/[^A-Za-z0-9.-]/g, '_')
  return join(cli.io.home, '.countersign', 'log', `${name}-${purpose}.json`)
}

function append(value: string, previous: readonly string[]): readonly string[] {
  return [...previous, value]
}
