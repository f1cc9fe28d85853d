import {
  type AddCheckpointRequest,
  type Checkpoint,
  CodedError,
  cosignatureMessage,
  emptyTreeRoot,
  equalHashes,
  formatCosignature,
  formatNote,
  formatSignature,
  formatVerifierKey,
  isSignedBy,
  type Note,
  type NoteKey,
  type NoteSignature,
  noteKeyId,
  parseAddCheckpoint,
  parseCheckpoint,
  parseNote,
  signaturesOf,
  type TreeHead,
  type VerifyEd25519,
  verifyConsistency,
} from '@countersign/protocol'
import type { WitnessedLogRow } from '../../database/schema/log-rows.ts'
import { OutcomeCounter } from '../../http/metrics/outcome-counter.ts'
import { Ed25519Verifier } from '../../secrets/ed25519.ts'
import {
  compareAndSwap,
  currentKey,
  haltKey,
  witnessedLog,
  witnessedLogs,
} from './cosigned-log-table.ts'
import { treeOf, WitnessHaltedError, WitnessHead } from './witness-head.ts'
import {
  beginWitness,
  lostTree,
  lostTreeMessage,
  type OpenedKey,
  openWitnessKey,
  type WitnessParts,
} from './witness-key.ts'

/** What the witness answers to `add-checkpoint` (C2SP tlog-witness). */
export type WitnessAnswer =
  /** `line`: the signature line of the witness. */
  | { readonly kind: 'cosigned'; readonly line: string }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'unknown_log' }
  /** No key of the log has signed it, or one of its signatures is invalid. */
  | { readonly kind: 'not_signed' }
  /** `size` was cosigned last. */
  | { readonly kind: 'other_size'; readonly size: number }
  /** Another tree of the same size was cosigned: the log has signed two histories. */
  | { readonly kind: 'other_root' }
  /** The proof does not lead from the tree that was cosigned last to that of the checkpoint. */
  | { readonly kind: 'inconsistent' }

const OUTCOMES: readonly (WitnessAnswer['kind'] | 'halted')[] = [
  ...(['cosigned', 'malformed', 'unknown_log', 'not_signed'] as const),
  ...(['other_size', 'other_root', 'inconsistent', 'halted'] as const),
]

/** A checkpoint that a log has signed and that the witness has refused. */
export interface Refusal {
  readonly kind: 'other_root' | 'inconsistent'
  /** Cosigned last, with the signatures; null after a new key. */
  readonly cosigned: string | null
  /** The note that was refused. */
  readonly refused: string
}

export interface WitnessDeps extends WitnessParts {
  /** The keys of the logs; the name of each is its origin. */
  readonly logs: readonly NoteKey[]
  readonly onRefusal: (refusal: Refusal) => void
}

/** A checkpoint that a log has signed, and what is asked about it. */
interface Submission extends Pick<AddCheckpointRequest, 'oldSize' | 'proof'> {
  readonly checkpoint: Checkpoint
  readonly note: Note
  /** Those of the log, verified. */
  readonly signatures: readonly NoteSignature[]
}

interface Opened extends OpenedKey {
  readonly rows: readonly WitnessedLogRow[]
}

/**
 * Cosigns checkpoints of other logs, each only if it contains the one before. What was cosigned is in the database before the
 * cosignature leaves, and in a file outside of it (`witness-head.ts`). If the database is behind that file, nothing is signed.
 */
export class Witness {
  readonly answers = new OutcomeCounter(OUTCOMES)
  readonly #deps: WitnessDeps
  readonly #head: WitnessHead
  readonly #ed25519 = new Ed25519Verifier()
  readonly #verify: VerifyEd25519 = (...args) => this.#ed25519.verify(...args)
  #opened: Opened | null = null
  #problem: string | null = null

  constructor(deps: WitnessDeps) {
    this.#deps = deps
    this.#head = new WitnessHead(deps.dataDir)
  }

  /** Why nothing is signed; null: it works. */
  get problem(): string | null {
    return this.#problem
  }

  /** Follows what other nodes have cosigned, so that each of them notices a restore. Call it about once a second. */
  async run(): Promise<void> {
    await this.#watched(async () => {
      await beginWitness(this.#deps)
      const opened = await this.#open()
      this.#head.advance(opened.key, opened.rows)
      this.#opened = opened
    })
  }

  /** The key, and the size of each log under the checkpoint that was cosigned last. @throws CodedError UNAVAILABLE if it does not sign */
  describe() {
    const { key, rows } = this.#current()
    const origins = [...new Set(this.#deps.logs.map(({ name }) => name))]
    return {
      name: key.name,
      verifierKey: formatVerifierKey(key),
      logs: origins.map((origin) => ({ origin, size: treeOf(rows, origin)?.size ?? 0 })),
    }
  }

  /** What was cosigned last of each log, as `run` has found it. @throws CodedError UNAVAILABLE if it does not sign */
  get witnessed(): readonly WitnessedLogRow[] {
    return this.#current().rows
  }

  /**
   * Answers `add-checkpoint`.
   * @throws CodedError UNAVAILABLE if it does not sign; StorageFailure or UnknownOutcome, and nothing is signed then
   */
  async addCheckpoint(body: string): Promise<WitnessAnswer> {
    const submission = await this.#read(body)
    const answer =
      'kind' in submission ? submission : await this.#watched(() => this.#cosign(submission))
    this.answers.add(answer?.kind ?? 'halted')
    if (answer === null) throw haltedError()
    return answer
  }

  #current(): Opened {
    if (this.#problem !== null || this.#opened === null) throw haltedError()
    return this.#opened
  }

  /** @returns null if the witness is halted, which is remembered */
  async #watched<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      const result = await work()
      this.#problem = null
      return result
    } catch (error) {
      if (!(error instanceof WitnessHaltedError)) throw error
      this.#problem = error.message
      return null
    }
  }

  async #read(body: string): Promise<Submission | WitnessAnswer> {
    const request = parseAddCheckpoint(body)
    const note = request === null ? null : parseNote(request.checkpoint)
    const checkpoint = note === null ? null : parseCheckpoint(note.text)
    if (request === null || note === null || checkpoint === null) return { kind: 'malformed' }
    const keys = this.#deps.logs.filter(({ name }) => name === checkpoint.origin)
    if (keys.length === 0) return { kind: 'unknown_log' }
    const signatures = await this.#signaturesBy(keys, note)
    if (signatures === null) return { kind: 'not_signed' }
    const { oldSize, proof } = request
    if (oldSize > checkpoint.size) return { kind: 'malformed' }
    return { oldSize, proof, checkpoint, note, signatures }
  }

  /** @returns null if there is none, or one is invalid */
  async #signaturesBy(keys: readonly NoteKey[], note: Note): Promise<NoteSignature[] | null> {
    const found: NoteSignature[] = []
    for (const key of keys) {
      const own = signaturesOf(note, key)
      if (own.length > 0 && !(await isSignedBy(note, key, this.#verify))) return null
      found.push(...own)
    }
    return found.length === 0 ? null : found
  }

  /** @throws WitnessHaltedError */
  async #cosign(submission: Submission): Promise<WitnessAnswer> {
    const { oldSize, proof, checkpoint } = submission
    const opened = await this.#open()
    const row = treeOf(opened.rows, checkpoint.origin)
    const old: TreeHead = row ?? { size: 0, root: emptyTreeRoot() }
    if (oldSize !== old.size) return { kind: 'other_size', size: old.size }
    const isOtherRoot = checkpoint.size === old.size && !equalHashes(checkpoint.root, old.root)
    if (isOtherRoot) return this.#refuse('other_root', submission, row)
    if (!verifyConsistency(old, checkpoint, proof))
      return this.#refuse('inconsistent', submission, row)
    return this.#sign(submission, opened, row ?? null)
  }

  #refuse(
    kind: Refusal['kind'],
    { note }: Submission,
    row: WitnessedLogRow | undefined,
  ): WitnessAnswer {
    this.#deps.onRefusal({ kind, cosigned: row?.checkpoint ?? null, refused: formatNote(note) })
    return { kind }
  }

  /** The cosignature leaves once the database and the file have the tree. @throws WitnessHaltedError */
  async #sign(
    { checkpoint, note, signatures }: Submission,
    { number, key, sign }: Opened,
    expected: WitnessedLogRow | null,
  ): Promise<WitnessAnswer> {
    const { db, now } = this.#deps
    const at = now()
    const time = Math.floor(at / 1000)
    const signature = formatCosignature(time, sign(cosignatureMessage(note.text, time)))
    const cosignature = { name: key.name, keyId: noteKeyId(key), signature }
    const signed = formatNote({ text: note.text, signatures: [...signatures, cosignature] })
    const { origin, size, root } = checkpoint
    const next = { origin, size, root, checkpoint: signed, cosigned_at: at }
    const other = await db.write(async (tx) => {
      const current = await currentKey(tx.db)
      if (current?.number !== number || current.halted_at !== null)
        throw new WitnessHaltedError('The key of the witness was replaced or halted meanwhile.')
      if (await compareAndSwap(tx, expected, next)) return null
      return (await witnessedLog(tx.db, origin))?.size ?? 0
    })
    if (other !== null) return { kind: 'other_size', size: other }
    this.#head.advance(key, [checkpoint])
    return { kind: 'cosigned', line: formatSignature(cosignature) }
  }

  /** Opens the key, if the database has all that this machine knows to be cosigned. @throws WitnessHaltedError */
  async #open(): Promise<Opened> {
    const { db, dataDir } = this.#deps
    const opened = await openWitnessKey(db.read, dataDir)
    const rows = await witnessedLogs(db.read)
    if (lostTree(opened.known, rows) === null) return { ...opened, rows }
    return { ...opened, rows: await this.#haltIfLost(opened) }
  }

  /**
   * Looks again in a transaction, which is never behind, and halts the key for all nodes: others may know less, and would sign.
   * @returns what the database has @throws WitnessHaltedError if it does not have all
   */
  async #haltIfLost({ number, known }: OpenedKey): Promise<WitnessedLogRow[]> {
    const { db, now } = this.#deps
    const { rows, lost } = await db.write(async (tx) => {
      const rows = await witnessedLogs(tx.db)
      const lost = lostTree(known, rows)
      if (lost !== null) await haltKey(tx, number, now())
      return { rows, lost }
    })
    if (lost !== null) throw new WitnessHaltedError(lostTreeMessage(lost))
    return rows
  }
}

function haltedError(): CodedError {
  return new CodedError('UNAVAILABLE', 'This witness does not sign at the moment.')
}
