import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Checkpoint,
  type Cosignature,
  encodeBase64,
  equalHashes,
  formatVerifierKey,
  type LogPolicy,
  type NoteKey,
  openByPolicy,
  openCheckpoint,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  proveConsistency,
  type ReadHashes,
  readHashesFromTiles,
  treeRoot,
  verifyConsistency,
} from '@countersign/protocol'
import { isSignature } from '@countersign/sdk'
import { Failure } from '@countersign/sdk/tool-support'
import { LogFault } from './log-fault.ts'
import type { LogSource } from './log-source.ts'
import type { LogState } from './log-state.ts'

/** A node or cache may be behind the one that was read before. A log that is published every second is not, for longer. */
const ATTEMPTS_IF_SMALLER = 3
const RETRY_MS = 1_000

/** Where the key of the log comes from: an option, the policy, the state of an earlier run, or the log itself. */
export type KeyOrigin = 'given' | 'policy' | 'pinned' | 'learned'

/** A checkpoint of the log that contains everything that was verified before. */
export interface OpenedLog {
  readonly key: NoteKey
  readonly keyOrigin: KeyOrigin
  readonly checkpoint: Checkpoint
  /** The signed note. */
  readonly signed: string
  /** Verified ones, by witnesses of the policy. */
  readonly cosignatures: readonly Cosignature[]
  /** Reads hashes of its tree, which are not verified. */
  readonly read: ReadHashes
}

export interface OpenLogOptions {
  readonly source: LogSource
  /** What was verified before; null: nothing. */
  readonly known: LogState | null
  /** Null: not given. */
  readonly key: NoteKey | null
  /** Null: cosignatures are not required. */
  readonly policy: LogPolicy | null
}

/**
 * Reads the newest checkpoint and verifies its signature, the cosignatures that the policy requires, and that it contains what was
 * verified before.
 * @throws LogFault; Failure USAGE if the keys do not go together, and what `LogSource` throws
 */
export async function openLog(options: OpenLogOptions): Promise<OpenedLog> {
  const { source, known } = options
  const [key, keyOrigin] = await keyOf(options)
  let [signed, checkpoint] = await readCheckpoint(source, key, known)
  const size = known?.frontier.size ?? 0
  for (let i = 1; i < ATTEMPTS_IF_SMALLER && checkpoint.size < size; i++) {
    await sleep(RETRY_MS)
    ;[signed, checkpoint] = await readCheckpoint(source, key, known)
  }
  const read = readHashesFromTiles(checkpoint.size, (tile) => source.hashes(tile))
  if (known !== null) await assertContains(checkpoint, signed, known, read)
  const cosignatures = await cosignaturesFor(options.policy, key, signed)
  return { key, keyOrigin, checkpoint, signed, cosignatures, read }
}

async function keyOf({
  source,
  known,
  key: given,
  policy,
}: OpenLogOptions): Promise<[NoteKey, KeyOrigin]> {
  const pinned = known === null ? null : parseVerifierKey(known.verifierKey)
  if (pinned !== null && given !== null && !isSameKey(pinned, given)) {
    throw new Failure('USAGE', 'The state file is about a log with another key than --log-key.')
  }
  const logs = policy?.logs.map(({ key }) => key) ?? []
  const named = given ?? pinned
  if (named !== null) {
    if (logs.length > 0 && !logs.some((log) => isSameKey(log, named))) {
      throw new Failure('USAGE', `The policy does not name the log ${named.name} with this key.`)
    }
    return [named, pinned !== null ? 'pinned' : 'given']
  }
  const [only] = logs
  if (only !== undefined && logs.length === 1) return [only, 'policy']
  const learned = parseVerifierKey(await source.verifierKey())
  const isAccepted = logs.length === 0 || logs.some((log) => learned && isSameKey(log, learned))
  if (learned?.type === 'ed25519' && isAccepted) return [learned, 'learned']
  throw new Failure(
    'USAGE',
    `${source.prefix} names no key that can be used. Pass it with --log-key.`,
  )
}

async function readCheckpoint(
  source: LogSource,
  key: NoteKey,
  known: LogState | null,
): Promise<[string, Checkpoint]> {
  const signed = await source.checkpoint()
  const opened = await openCheckpoint(signed, key, isSignature)
  if (opened !== null) return [signed, opened.checkpoint]
  const origin = parseCheckpoint(parseNote(signed)?.text ?? '')?.origin ?? null
  const evidence = {
    verifierKey: formatVerifierKey(key),
    checkpoint: signed,
    known: known?.checkpoint ?? null,
  }
  if (origin !== null && origin !== key.name) {
    const message = `${source.prefix} serves another log: ${origin} instead of ${key.name}. If the operator has begun a new log, they tell why. Its first entry names the log before it, which stays served at ${source.prefix}/<number>. Verify the new one with --log-key and a new --state.`
    throw new LogFault('LOG_REPLACED', message, evidence)
  }
  const message = `The checkpoint of ${source.prefix} is not signed by the key of ${key.name}.`
  throw new LogFault('LOG_NOT_SIGNED', message, evidence)
}

/** @throws LogFault LOG_ROLLED_BACK, LOG_FORKED, LOG_REWRITTEN */
async function assertContains(
  checkpoint: Checkpoint,
  signed: string,
  { frontier, checkpoint: before }: LogState,
  read: ReadHashes,
): Promise<void> {
  const old = { size: frontier.size, root: frontier.root() }
  const { origin, size } = checkpoint
  const evidence = {
    verified: { size: old.size, root: encodeBase64(old.root), checkpoint: before },
    checkpoint: signed,
  }
  if (size < old.size) {
    const message = `${origin} has ${size} entries, but ${old.size} were signed and verified before. A log never gets smaller: it was rolled back, or somebody shows you an old copy.`
    throw new LogFault('LOG_ROLLED_BACK', message, evidence)
  }
  const proof = await proveConsistency(old.size, size, read)
  if (verifyConsistency(old, checkpoint, proof)) return
  if (size > old.size && !equalHashes(await treeRoot(size, read), checkpoint.root)) {
    const message = `The tiles of ${origin} are not those of its checkpoint of ${size} entries.`
    throw new LogFault('LOG_REWRITTEN', message, evidence)
  }
  const message = `The checkpoint of ${origin} with ${size} entries does not contain the ${old.size} entries that were verified before: the log has signed two histories.`
  throw new LogFault('LOG_FORKED', message, { ...evidence, consistency: proof.map(encodeBase64) })
}

async function cosignaturesFor(
  policy: LogPolicy | null,
  key: NoteKey,
  signed: string,
): Promise<readonly Cosignature[]> {
  if (policy === null) return []
  const opened = await openByPolicy(signed, { ...policy, logs: [{ key, url: null }] }, isSignature)
  if (opened !== null) return opened.cosignatures
  const message = `The checkpoint of ${key.name} does not have the cosignatures that the policy requires.`
  throw new LogFault('LOG_NOT_WITNESSED', message, { checkpoint: signed })
}

function isSameKey(a: NoteKey, b: NoteKey): boolean {
  return formatVerifierKey(a) === formatVerifierKey(b)
}
