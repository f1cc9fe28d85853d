import {
  type Checkpoint,
  emptyTreeRoot,
  equalHashes,
  formatCheckpoint,
  formatNote,
  type NoteKey,
  noteKeyId,
  openCheckpoint,
  utf8,
} from '@countersign/protocol'
import type { ClaimLog } from '../agents/claims/mint.ts'
import type { Database } from '../database/database.ts'
import type { LogEpochRow } from '../database/schema/log-rows.ts'
import { Ed25519Verifier } from '../secrets/ed25519.ts'
import type { ServiceKey } from '../secrets/service-keys.ts'
import { LogAnchor } from './anchor.ts'
import { backfill } from './backfill.ts'
import { assertAnchored, assertContains, LogHaltedError } from './halted.ts'
import { answerJoins, Joining } from './join.ts'
import { KnownStates } from './known-states.ts'
import { countDue, currentEpoch, dueChanges, insertCheckpoint, insertEpoch } from './log-table.ts'
import { claimLogOf, SEQUENCE_BATCH, type SequenceDeps, sequenceBatch } from './sequence.ts'
import type { LogWitnesses } from './witnesses/log-witnesses.ts'
import type { SignedCheckpoint } from './witnesses/witness-table.ts'

export interface LogDeps extends SequenceDeps {
  readonly db: Pick<Database, 'read' | 'write'>
  readonly dataDir: string
  /** The key of the purpose `log`. */
  readonly key: ServiceKey
  /** Host of the base URL, with its port: the beginning of the origin of a new log. */
  readonly host: string
  /** Null: checkpoints need no cosignatures. */
  readonly witnesses: LogWitnesses | null
}

/** The log that this node serves: nothing beyond its size. */
export interface ServedLog extends Checkpoint {
  readonly epoch: number
  /** The signed note. */
  readonly signed: string
  /** When it was signed, in milliseconds since the Unix epoch. */
  readonly at: number
  /** Names of the witnesses that have cosigned it. */
  readonly cosigners: readonly string[]
}

/**
 * The transparency log of this process: sequences the changes that wait, signs and publishes checkpoints, and follows those that
 * other nodes publish. It never signs or serves a state that does not contain the one in the anchor (`anchor.ts`), and nothing
 * without an anchor once a checkpoint was signed. With witnesses, they decide when it signs, and what is published
 * (`witnesses/log-witnesses.ts`).
 */
export class TransparencyLog {
  readonly claims: ClaimLog
  readonly #deps: LogDeps
  readonly #anchor: LogAnchor
  readonly #ed25519 = new Ed25519Verifier()
  readonly #joining: Joining
  readonly #states = new KnownStates()
  #served: ServedLog | null = null
  #halted: LogHaltedError | null = null
  #damage: LogHaltedError | null = null
  #isBackfilled = false

  constructor(deps: LogDeps) {
    this.#deps = deps
    this.#anchor = new LogAnchor(deps.dataDir)
    this.#joining = new Joining(deps)
    this.claims = claimLogOf({ ...deps, states: this.#states })
  }

  /** What this node serves; null before the first checkpoint, and while the log is halted. */
  get served(): ServedLog | null {
    const mayServe = this.#deps.witnesses?.mayServe ?? true
    return mayServe && this.#halted === null ? this.#served : null
  }

  /** Why the log is neither signed nor served; null: it works. */
  get halted(): LogHaltedError | null {
    return this.#halted
  }

  /** The message of `halted`. */
  get problem(): string | null {
    return this.#halted?.message ?? null
  }

  /** Halts the log until the process ends, because the database has bytes that are not those of the tree. */
  halt(problem: string): void {
    this.#damage = new LogHaltedError('other-entries', problem)
    this.#halted = this.#damage
    this.#states.close()
  }

  /** The number of changes that could have their place in the log. */
  countDue(): Promise<number> {
    return countDue(this.#deps.db.read, this.#deps.now())
  }

  /** Sequences, signs and publishes what is new. Call it at least once a second. @param stopping ends it between two steps */
  async run(stopping: AbortSignal): Promise<void> {
    try {
      await this.#step(stopping)
      this.#halted = null
    } catch (error) {
      this.#states.close()
      if (!(error instanceof LogHaltedError)) throw error
      this.#halted = error
    }
  }

  /**
   * Signs what is committed. The caller publishes it.
   * @returns null if there is no log yet, or it is halted
   */
  async sign(): Promise<SignedCheckpoint | null> {
    try {
      return this.#halted === null ? await this.#sign() : null
    } catch (error) {
      if (error instanceof LogHaltedError) return null
      throw error
    }
  }

  /** @throws LogHaltedError; what is queued stays queued then */
  async #step(stopping: AbortSignal): Promise<void> {
    const { db } = this.#deps
    if (this.#damage !== null) throw this.#damage
    if (!this.#isBackfilled) await this.#begin()
    const row = await currentEpoch(db.read)
    if (row === undefined) return
    await assertContains(db.read, this.#anchor.read(), row)
    await this.#assertAccepted(row.epoch)
    await this.#findAnchor(row)
    await answerJoins(this.#deps, this.#anchor.read(), row)
    if (this.#deps.witnesses?.maySequence ?? true) await this.#add(row, stopping)
    else this.#states.close()
    if (!stopping.aborted) await this.#publish()
  }

  /**
   * Without an anchor, learns the newest state of the log from another node or from its witnesses.
   * @throws LogHaltedError if nobody says it, or the database does not contain it
   */
  async #findAnchor(row: LogEpochRow): Promise<void> {
    const anchor = this.#anchor.read()
    const isKnown = anchor === null ? row.checkpoint === null : anchor.origin === row.origin
    if (isKnown) return this.#joining.end()
    this.#assertOwnKey(row)
    const known = (await this.#deps.witnesses?.confirmed()) ?? (await this.#joining.learn(row))
    if (known === null) return assertAnchored(row, anchor)
    await assertContains(this.#deps.db.read, known, row)
    this.#anchor.compareAndSwap(anchor, known)
  }

  /** @throws LogHaltedError if a witness has cosigned what the database does not contain */
  async #assertAccepted(epoch: number): Promise<void> {
    const problem = (await this.#deps.witnesses?.problem(epoch)) ?? null
    if (problem !== null) throw new LogHaltedError('witness', problem)
  }

  /** Creates the first epoch, unless another node has. */
  async #begin(): Promise<void> {
    const { db, host, key, now } = this.#deps
    if ((await currentEpoch(db.read)) !== undefined) return
    await db.write((tx) => insertEpoch(tx, newEpoch({ epoch: 1, host, key, at: now() })))
  }

  /** @param row found to contain the anchor */
  async #add(row: LogEpochRow, stopping: AbortSignal): Promise<void> {
    if (this.#isBackfilled) this.#states.open(row)
    else {
      await backfill(this.#deps, stopping)
      this.#isBackfilled = !stopping.aborted
    }
    await this.#sequence(stopping)
  }

  async #sequence(stopping: AbortSignal): Promise<void> {
    const { db, now } = this.#deps
    if ((await dueChanges(db.read, now(), 1)).length === 0) return
    for (let count = SEQUENCE_BATCH; count >= SEQUENCE_BATCH && !stopping.aborted; ) {
      count = await db.write((tx) => sequenceBatch({ ...this.#deps, states: this.#states }, tx))
    }
  }

  async #publish(): Promise<void> {
    const { db, witnesses } = this.#deps
    const row = await currentEpoch(db.read)
    if (row !== undefined && witnesses === null && isUnpublished(row)) {
      const signed = await this.#sign()
      if (signed !== null) await db.write((tx) => insertCheckpoint(tx, signed))
    }
    await this.#serve(await currentEpoch(db.read))
  }

  /**
   * Moves the anchor to a state that the log in the database contains, unless it is there or ahead already.
   * @throws LogHaltedError if there is no anchor, or the database does not contain what it says
   */
  async #advanceAnchor(row: LogEpochRow, next: Checkpoint): Promise<void> {
    for (;;) {
      const anchor = this.#anchor.read()
      assertAnchored(row, anchor)
      await assertContains(this.#deps.db.read, anchor, row)
      this.#states.forgetBelow(next.size)
      if (anchor?.origin === next.origin && anchor.size >= next.size) return
      if (this.#anchor.compareAndSwap(anchor, next)) return
    }
  }

  /** After the anchor has a state, every node that signs it signs the same bytes. @throws LogHaltedError */
  async #sign(): Promise<SignedCheckpoint | null> {
    const { key, db, now } = this.#deps
    // A transaction, and not a read: it ends only if what it has read is durable, on the standbys too. What a commit with an unknown
    // outcome has left is not signed before that.
    const row = await db.write((tx) => currentEpoch(tx.db))
    if (row === undefined) return null
    const { epoch, origin, size, root } = row
    this.#assertOwnKey(row)
    await this.#advanceAnchor(row, { origin, size, root })
    const text = formatCheckpoint({ origin, size, root })
    const name: NoteKey = { name: origin, type: 'ed25519', publicKey: key.publicKey }
    const signature = { name: origin, keyId: noteKeyId(name), signature: key.sign(utf8(text)) }
    const checkpoint = formatNote({ text, signatures: [signature] })
    return { epoch, size, root, checkpoint, at: now() }
  }

  /** @throws LogHaltedError `other-key` */
  #assertOwnKey({ origin, public_key }: LogEpochRow): void {
    if (equalHashes(this.#deps.key.publicKey, public_key)) return
    throw new LogHaltedError(
      'other-key',
      `log-key is not the key of ${origin}. Copy it from another node or from the backup, or begin a new log: countersignd log new-epoch`,
    )
  }

  /** The database is not trusted with what is served under the name of the log. @throws LogHaltedError */
  async #assertOwnSignature({ origin, size, root }: Checkpoint, signed: string): Promise<void> {
    const name: NoteKey = { name: origin, type: 'ed25519', publicKey: this.#deps.key.publicKey }
    const opened = await openCheckpoint(signed, name, (...args) => this.#ed25519.verify(...args))
    const is = opened?.checkpoint
    if (is !== undefined && is.size === size && equalHashes(is.root, root)) return
    throw new LogHaltedError(
      'other-key',
      `The checkpoint of ${origin} in the database is not signed by log-key. Copy log-key from another node or from the backup.`,
    )
  }

  /** Serves what is published, once the anchor contains it. @throws LogHaltedError */
  async #serve(row: LogEpochRow | undefined): Promise<void> {
    if (row === undefined || row.checkpoint === null) return
    const { epoch, origin, published_size: size, checkpoint: signed } = row
    const served = this.#served
    if (served?.origin === origin && served.size >= size) return
    const { witnesses, db } = this.#deps
    const cosigners = witnesses === null ? [] : await witnesses.cosignersOf(row)
    if (cosigners === null) return
    const published = { origin, size, root: row.published_root ?? emptyTreeRoot() }
    await this.#assertOwnSignature(published, signed)
    await assertContains(db.read, published, row)
    await this.#advanceAnchor(row, published)
    this.#served = { ...published, epoch, signed, at: row.published_at ?? 0, cosigners }
  }
}

function isUnpublished({ size, published_size, checkpoint }: LogEpochRow): boolean {
  return size > published_size || checkpoint === null
}

/** The row of a log that has no entries yet. */
export function newEpoch({
  epoch,
  host,
  key,
  at,
}: {
  readonly epoch: number
  readonly host: string
  readonly key: Pick<ServiceKey, 'publicKey'>
  readonly at: number
}): LogEpochRow {
  return {
    epoch,
    origin: `${host}/log/${epoch}`,
    public_key: key.publicKey,
    created_at: at,
    size: 0,
    root: emptyTreeRoot(),
    published_size: 0,
    published_root: null,
    checkpoint: null,
    published_at: null,
    backfilled_seq: 0,
    complete_index: null,
    complete_at: null,
  }
}
