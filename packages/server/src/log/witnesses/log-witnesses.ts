import {
  type Checkpoint,
  type Cosignature,
  cosignaturesOf,
  formatNote,
  formatVerifierKey,
  isQuorum,
  type LogPolicy,
  type PolicyWitness,
  parseNote,
  parseSignatures,
  signaturesOf,
} from '@countersign/protocol'
import type { Database } from '../../database/database.ts'
import type { LogEpochRow, LogWitnessRow } from '../../database/schema/log-rows.ts'
import type { Sender } from '../../http/outbound/open-sender.ts'
import { Ed25519Verifier } from '../../secrets/ed25519.ts'
import { keyOfEpoch } from '../log-table.ts'
import { WitnessQuestions } from './witness-questions.ts'
import {
  insertPending,
  insertWitnesses,
  type NewestSigned,
  newestSigned,
  publishWitnessed,
  releaseWitness,
  type SignedCheckpoint,
  takeWitness,
  witnessRows,
} from './witness-table.ts'

/** With witnesses, a new checkpoint is signed at most this often. */
const CHECKPOINT_INTERVAL_MS = 10_000
/** How long one process has a witness for itself: longer than it asks it. */
const TURN_MS = 20_000

export interface LogWitnessesDeps {
  readonly db: Pick<Database, 'read' | 'write'>
  readonly policy: LogPolicy
  /** A witness is the anchor: nothing is signed or served before the quorum has answered since the start of this process. */
  readonly isRequired: boolean
  readonly sender: Pick<Sender, 'exchange'>
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
}

/** What signs checkpoints. It refuses if the database does not contain the anchor. */
export interface LogSigner {
  /** @returns null if it refuses, or there is no log */
  sign(): Promise<SignedCheckpoint | null>
}

/** What is known of a witness. Times are milliseconds since the Unix epoch. */
export interface WitnessReport {
  /** Of its key. */
  readonly name: string
  /** Entries under the last checkpoint that it has cosigned. */
  readonly size: number
  /** Entries of the log that it has not cosigned. */
  readonly lag: number
  /** How often it has failed since it has cosigned last. */
  readonly failures: number
  /** How it has failed last; null: it has not since it has cosigned. */
  readonly failure: string | null
  /** Why it refuses the log; null: it does not. */
  readonly problem: string | null
}

/**
 * The witnesses of the log: asks them about the newest signed checkpoint, before the next one is signed and afterwards, and
 * publishes a checkpoint once the quorum has cosigned it. What they have answered is in the database, for all processes.
 */
export class LogWitnesses {
  readonly #deps: LogWitnessesDeps
  readonly #startedAt: number
  readonly #questions: WitnessQuestions
  readonly #ed25519 = new Ed25519Verifier()
  /** By verifier key. */
  readonly #witnesses: ReadonlyMap<string, PolicyWitness>
  #isConfirmed = false
  #wasRun = false
  #reports: readonly WitnessReport[] = []
  #waitingSince: number | null = null
  #checked: { readonly checkpoint: string; readonly cosigners: readonly string[] | null } | null =
    null

  constructor(deps: LogWitnessesDeps) {
    this.#deps = deps
    this.#startedAt = deps.now()
    this.#questions = new WitnessQuestions(deps)
    const byKey = deps.policy.witnesses.map((each) => [formatVerifierKey(each.key), each] as const)
    this.#witnesses = new Map(byKey)
  }

  /** Whether the log may be served as far as its witnesses are concerned. */
  get mayServe(): boolean {
    return this.#isConfirmed || !this.#deps.isRequired
  }

  /**
   * Whether entries may get their places: the witnesses were asked since the start of this process, and the required ones have
   * answered. A database that was restored gets no new entries, so that the lost ones can be recovered.
   */
  get maySequence(): boolean {
    return this.#isConfirmed || (this.#wasRun && !this.#deps.isRequired)
  }

  get reports(): readonly WitnessReport[] {
    return this.#reports
  }

  /** Since when a signed checkpoint waits for the quorum; null: none does. */
  get waitingSince(): number | null {
    return this.#waitingSince
  }

  /** Why a witness refuses the log; null: none does. */
  async problem(epoch: number): Promise<string | null> {
    return problemIn(await this.#rows(epoch))
  }

  /**
   * The newest state that the log has signed, as far as its witnesses know. Every quorum has one of the witnesses that have
   * cosigned it since the start of this process, and would name a larger size if it had cosigned one.
   * @returns null if too few have answered, or one refuses the log
   */
  async confirmed(): Promise<Checkpoint | null> {
    const newest = await newestSigned(this.#deps.db.read)
    const signed = newest?.signed
    if (newest === null || signed == null) return null
    const { epoch, size, root } = signed
    const rows = await this.#rows(epoch)
    if (problemIn(rows) !== null) return null
    const silent = rows.filter(
      (row) => !hasCosigned(row, size) || row.answered_at < this.#startedAt,
    )
    const isComplete = rows.length === this.#witnesses.size
    if (!isComplete || isQuorum(this.#deps.policy, this.#namesOf(silent))) return null
    return { origin: newest.row.origin, size, root }
  }

  /** The names of those that have cosigned what is published. @returns null if they are not the quorum */
  async cosignersOf(row: LogEpochRow): Promise<readonly string[] | null> {
    const { checkpoint } = row
    if (checkpoint === null) return null
    if (this.#checked?.checkpoint !== checkpoint)
      this.#checked = { checkpoint, cosigners: await this.#verify(checkpoint) }
    return this.#checked.cosigners
  }

  /** Asks, publishes and signs what is due. Call it about once a second. @param stopping ends it between two steps */
  async run(log: LogSigner, stopping: AbortSignal): Promise<void> {
    const newest = await newestSigned(this.#deps.db.read)
    if (newest === null) return
    await this.#addMissing(newest.row.epoch)
    await this.#collect(stopping)
    if (!stopping.aborted && (await this.#maySign())) {
      const signed = await log.sign()
      if (signed !== null) {
        await this.#deps.db.write((tx) => insertPending(tx, signed))
        await this.#collect(stopping)
      }
    }
    await this.#observe()
    this.#wasRun = !stopping.aborted
  }

  async #rows(epoch: number): Promise<LogWitnessRow[]> {
    return witnessRows(this.#deps.db.read, epoch, [...this.#witnesses.keys()])
  }

  async #addMissing(epoch: number): Promise<void> {
    const rows = await this.#rows(epoch)
    const isMissing = (key: string) => !rows.some(({ witness }) => witness === key)
    const missing = [...this.#witnesses.keys()].filter(isMissing)
    if (missing.length === 0) return
    await this.#deps.db.write((tx) => insertWitnesses(tx, epoch, missing))
  }

  /** Asks those that have not cosigned the newest checkpoint since it matters, and publishes it once it has the quorum. */
  async #collect(stopping: AbortSignal): Promise<void> {
    const { db, now } = this.#deps
    const newest = await newestSigned(db.read)
    if (newest?.signed == null) return
    const { size, epoch } = newest.signed
    const since = await this.#since(newest)
    const stale = (await this.#rows(epoch)).filter(
      (row) => row.not_before <= now() && !(hasCosigned(row, size) && row.answered_at >= since),
    )
    await Promise.all(stale.map(({ witness }) => this.#ask(epoch, witness, stopping)))
    if (await this.#isCollecting(newest)) await this.#publish(newest.signed)
  }

  /** From when on answers count: since the start of this process, and since the next signature is due. */
  async #since(newest: NewestSigned): Promise<number> {
    const dueAt = (newest.signed?.at ?? 0) + CHECKPOINT_INTERVAL_MS
    return Math.max(this.#startedAt, (await this.#isDue(newest)) ? dueAt : 0)
  }

  /** Whether the newest signed checkpoint does not have the quorum yet. */
  async #isCollecting({ row, signed, isPending }: NewestSigned): Promise<boolean> {
    return signed !== null && (isPending || (await this.cosignersOf(row)) === null)
  }

  async #isDue(newest: NewestSigned): Promise<boolean> {
    const { row, signed } = newest
    if (signed === null) return true
    const isTime = this.#deps.now() >= signed.at + CHECKPOINT_INTERVAL_MS
    return isTime && row.size > signed.size && !(await this.#isCollecting(newest))
  }

  /**
   * Whether the next checkpoint is due, and the witnesses have confirmed the one before just now. So a machine that was rolled
   * back signs nothing, and can be recovered.
   */
  async #maySign(): Promise<boolean> {
    const { db, isRequired, policy } = this.#deps
    const newest = await newestSigned(db.read)
    if (newest === null || !(await this.#isDue(newest))) return false
    const rows = await this.#rows(newest.row.epoch)
    if (problemIn(rows) !== null) return false
    if (newest.signed === null) return true
    const since = await this.#since(newest)
    const confirmed = rows.filter(({ answered_at }) => answered_at >= since)
    if (isRequired) return isQuorum(policy, this.#namesOf(confirmed))
    return rows.every((row) => confirmed.includes(row) || row.failure !== null)
  }

  async #publish(signed: SignedCheckpoint): Promise<void> {
    const { db } = this.#deps
    const rows = await this.#rows(signed.epoch)
    if (problemIn(rows) !== null) return
    const note = parseNote(signed.checkpoint)
    const newest = await newestSigned(db.read)
    if (note === null || newest?.row.epoch !== signed.epoch) return
    const own = signaturesOf(note, keyOfEpoch(newest.row))
    const lines = rows.filter((row) => hasCosigned(row, signed.size))
    const cosignatures = lines.flatMap(
      ({ cosignature }) => parseSignatures(cosignature ?? '') ?? [],
    )
    const checkpoint = formatNote({ text: note.text, signatures: [...own, ...cosignatures] })
    if ((await this.#verify(checkpoint)) === null) return
    await db.write((tx) => publishWitnessed(tx, { ...signed, checkpoint }))
  }

  /** Asks a witness, unless another process does, and stores what it answers. */
  async #ask(epoch: number, witness: string, stopping: AbortSignal): Promise<void> {
    const { db, now } = this.#deps
    const known = this.#witnesses.get(witness)
    const until = now() + TURN_MS
    // What this transaction has read is durable once it ends, on the standbys too: a witness must never know more than they do.
    const taken = await db.write(async (tx) => {
      const state = await takeWitness(tx, { epoch, witness }, { now: now(), until })
      return state && { state, newest: await newestSigned(tx.db) }
    })
    const signed = taken?.newest?.signed
    if (known === undefined || taken === null || signed?.epoch !== epoch) return
    const learned = await this.#questions.ask(known, { signed, state: taken.state, stopping })
    await db.write((tx) => releaseWitness(tx, { epoch, witness, not_before: until }, learned))
  }

  /** The names of the witnesses that have cosigned a checkpoint of the log. @returns null if they are not the quorum */
  async #verify(checkpoint: string): Promise<readonly string[] | null> {
    const { policy } = this.#deps
    const note = parseNote(checkpoint)
    const cosignatures: readonly Cosignature[] =
      note === null
        ? []
        : await cosignaturesOf(note, policy, (...args) => this.#ed25519.verify(...args))
    const names = cosignatures.map(({ witness }) => witness.name)
    return isQuorum(policy, names) ? cosignatures.map(({ witness }) => witness.key.name) : null
  }

  async #observe(): Promise<void> {
    const { db, policy } = this.#deps
    const newest = await newestSigned(db.read)
    if (newest === null) return
    const rows = await this.#rows(newest.row.epoch)
    this.#reports = rows.map(({ witness, size, failures, failure, problem }) => {
      const name = this.#witnesses.get(witness)?.key.name ?? witness
      return { name, size, lag: Math.max(0, newest.row.size - size), failures, failure, problem }
    })
    this.#waitingSince = (await this.#isCollecting(newest)) ? (newest.signed?.at ?? null) : null
    const answered = rows.filter(({ answered_at }) => answered_at >= this.#startedAt)
    const isNew = newest.signed === null
    this.#isConfirmed ||= isNew || isQuorum(policy, this.#namesOf(answered))
  }

  /** Their names in the policy. */
  #namesOf(rows: readonly LogWitnessRow[]): string[] {
    return rows.map(({ witness }) => this.#witnesses.get(witness)?.name ?? '')
  }
}

function problemIn(rows: readonly LogWitnessRow[]): string | null {
  return rows.find(({ problem }) => problem !== null)?.problem ?? null
}

function hasCosigned(row: LogWitnessRow, size: number): boolean {
  return row.size === size && row.cosignature !== null && row.problem === null
}
