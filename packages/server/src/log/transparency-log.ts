import {
  type Checkpoint,
  emptyTreeRoot,
  equalHashes,
  formatCheckpoint,
  formatNote,
  type NoteKey,
  noteKeyId,
  openCheckpoint,
  type ReadHashes,
  readHashesFromTiles,
  treeRoot,
  utf8,
} from '@countersign/protocol'
import { Ed25519Verifier } from '../core/crypto/ed25519.ts'
import type { ServiceKey } from '../core/crypto/service-keys.ts'
import type { Database, Db } from '../core/database/database.ts'
import type { LogEpochRow } from '../core/database/log-rows.ts'
import { LogAnchor } from './anchor.ts'
import { backfill } from './backfill.ts'
import { currentEpoch, dueChanges, insertCheckpoint, insertEpoch, tilesAt } from './log-table.ts'
import { SEQUENCE_BATCH, type SequenceDeps, sequenceBatch } from './sequence.ts'

export interface LogDeps extends SequenceDeps {
  readonly db: Pick<Database, 'read' | 'write'>
  readonly dataDir: string
  /** The key of the purpose `log`. */
  readonly key: ServiceKey
  /** Host of the base URL, with its port: the beginning of the origin of a new log. */
  readonly host: string
}

/** The log that this node serves: nothing beyond its size. */
export interface ServedLog extends Checkpoint {
  readonly epoch: number
  /** The signed note. */
  readonly signed: string
  /** When it was signed, in milliseconds since the Unix epoch. */
  readonly at: number
}

/** Why the log is not signed. */
class LogHaltedError extends Error {
  override readonly name = 'LogHaltedError'
}

/**
 * The transparency log of this process: sequences the changes that wait, signs and publishes checkpoints, and follows those that
 * other nodes publish. It never signs or serves a state that does not contain the one in the anchor (`anchor.ts`).
 */
export class TransparencyLog {
  readonly #deps: LogDeps
  readonly #anchor: LogAnchor
  readonly #ed25519 = new Ed25519Verifier()
  #served: ServedLog | null = null
  #problem: string | null = null
  #isBackfilled = false

  constructor(deps: LogDeps) {
    this.#deps = deps
    this.#anchor = new LogAnchor(deps.dataDir)
  }

  /** What this node serves; null before the first checkpoint, and while the log is halted. */
  get served(): ServedLog | null {
    return this.#problem === null ? this.#served : null
  }

  /** Why the log is neither signed nor served; null: it works. */
  get problem(): string | null {
    return this.#problem
  }

  /** Sequences, signs and publishes what is new. Call it at least once a second. @param stopping ends it between two steps */
  async run(stopping: AbortSignal): Promise<void> {
    try {
      await this.#step(stopping)
      this.#problem = null
    } catch (error) {
      if (!(error instanceof LogHaltedError)) throw error
      this.#problem = error.message
    }
  }

  /** @throws LogHaltedError; what is queued stays queued then */
  async #step(stopping: AbortSignal): Promise<void> {
    const { db } = this.#deps
    if (!this.#isBackfilled) await this.#begin()
    const row = await currentEpoch(db.read)
    if (row === undefined) return
    await assertContains(db.read, row.epoch, this.#anchor.read(), row)
    if (!this.#isBackfilled) {
      await backfill(this.#deps, stopping)
      this.#isBackfilled = !stopping.aborted
    }
    await this.#sequence(stopping)
    if (!stopping.aborted) await this.#publish()
  }

  /** Creates the first epoch, unless another node has. */
  async #begin(): Promise<void> {
    const { db, host, key, now } = this.#deps
    if ((await currentEpoch(db.read)) !== undefined) return
    await db.write((tx) => insertEpoch(tx, newEpoch({ epoch: 1, host, key, at: now() })))
  }

  async #sequence(stopping: AbortSignal): Promise<void> {
    const { db, now } = this.#deps
    if ((await dueChanges(db.read, now(), 1)).length === 0) return
    for (let count = SEQUENCE_BATCH; count >= SEQUENCE_BATCH && !stopping.aborted; ) {
      count = await db.write((tx) => sequenceBatch(this.#deps, tx))
    }
  }

  async #publish(): Promise<void> {
    const { db } = this.#deps
    const row = await currentEpoch(db.read)
    if (row !== undefined && isUnpublished(row)) await this.#sign()
    await this.#serve(await currentEpoch(db.read))
  }

  /** @throws LogHaltedError if the database does not contain what the anchor says */
  async #advanceAnchor({ epoch, origin, size, root }: LogEpochRow): Promise<void> {
    const next = { origin, size, root }
    for (;;) {
      const anchor = this.#anchor.read()
      await assertContains(this.#deps.db.read, epoch, anchor, next)
      if (this.#anchor.compareAndSwap(anchor, next)) return
    }
  }

  /** After the anchor has a state, every node that signs it signs the same bytes. @throws LogHaltedError */
  async #sign(): Promise<void> {
    const { key, db, now } = this.#deps
    // A transaction, and not a read: it ends only if what it has read is durable, on the standbys too. What a commit with an unknown
    // outcome has left is not signed before that.
    const row = await db.write((tx) => currentEpoch(tx.db))
    if (row === undefined) return
    await this.#advanceAnchor(row)
    const { epoch, origin, size, root, public_key } = row
    if (!equalHashes(key.publicKey, public_key)) {
      throw new LogHaltedError(
        `log-key in DATA_DIR is not the key of ${origin}. Copy it from another node or from the backup, or begin a new epoch: countersignd log new-epoch`,
      )
    }
    const text = formatCheckpoint({ origin, size, root })
    const name: NoteKey = { name: origin, type: 'ed25519', publicKey: key.publicKey }
    const signature = { name: origin, keyId: noteKeyId(name), signature: key.sign(utf8(text)) }
    const checkpoint = formatNote({ text, signatures: [signature] })
    await db.write((tx) => insertCheckpoint(tx, { epoch, size, root, checkpoint, at: now() }))
  }

  /** The database is not trusted with what is served under the name of the log. @throws LogHaltedError */
  async #assertOwnSignature({
    origin,
    checkpoint,
    published_size,
    published_root,
  }: LogEpochRow): Promise<void> {
    const name: NoteKey = { name: origin, type: 'ed25519', publicKey: this.#deps.key.publicKey }
    const opened = await openCheckpoint(checkpoint ?? '', name, (...args) =>
      this.#ed25519.verify(...args),
    )
    const root = published_root ?? emptyTreeRoot()
    const is = opened?.checkpoint
    if (is !== undefined && is.size === published_size && equalHashes(is.root, root)) return
    throw new LogHaltedError(
      `The checkpoint of ${origin} in the database is not signed by log-key in DATA_DIR. Copy log-key from another node or from the backup.`,
    )
  }

  /** Serves what is published, once the anchor contains it. @throws LogHaltedError */
  async #serve(row: LogEpochRow | undefined): Promise<void> {
    if (row === undefined || row.checkpoint === null) return
    const { epoch, origin, published_size: size, published_root: root, checkpoint: signed } = row
    const served = this.#served
    if (served?.origin === origin && served.size >= size) return
    await this.#assertOwnSignature(row)
    await this.#advanceAnchor(row)
    await assertContains(
      this.#deps.db.read,
      epoch,
      { origin, size, root: root ?? emptyTreeRoot() },
      row,
    )
    this.#served = {
      ...{ epoch, origin, size, root: root ?? emptyTreeRoot(), signed },
      at: row.published_at ?? 0,
    }
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
    ...{ epoch, origin: `${host}/log/${epoch}`, public_key: key.publicKey, created_at: at },
    ...{ size: 0, root: emptyTreeRoot(), published_size: 0, published_root: null },
    ...{ checkpoint: null, published_at: null },
    ...{ backfilled_seq: 0, complete_index: null, complete_at: null },
  }
}

/**
 * Checks that the log in the database contains a state that was signed or served.
 * @throws LogHaltedError
 */
export async function assertContains(
  db: Db,
  epoch: number,
  known: Checkpoint | null,
  { origin, size, root }: Checkpoint,
): Promise<void> {
  if (known === null) return
  if (known.origin !== origin) {
    throw new LogHaltedError(
      `log-head in DATA_DIR is of the log ${known.origin}, the database has ${origin}. Copy log-head and log-key from the node that began the epoch.`,
    )
  }
  if (known.size > size) {
    throw new LogHaltedError(
      `The database has ${size} entries of the log, but ${known.size} were signed or served: it was restored, or has lost commits. Run: countersignd log recover --from <mirror>`,
    )
  }
  const found = known.size === size ? root : await rootAt(db, epoch, known.size, size)
  if (found !== null && equalHashes(found, known.root)) return
  throw new LogHaltedError(
    `The first ${known.size} entries of the log in the database are not those that were signed or served: it was changed, or is another one. Run: countersignd log recover --from <mirror>`,
  )
}

/** The root of the first entries, by the tiles in the database. @returns null if tiles are missing */
async function rootAt(
  db: Db,
  epoch: number,
  old: number,
  size: number,
): Promise<Uint8Array | null> {
  try {
    return await treeRoot(old, readHashesFromDatabase(db, epoch, size))
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Reads hashes of a tree of this size from the tiles in the database, which may be wider by now. */
export function readHashesFromDatabase(db: Db, epoch: number, size: number): ReadHashes {
  return readHashesFromTiles(size, async ({ level, index, width }) => {
    const [tile] = await tilesAt(db, epoch, [{ level: level as number, position: index }])
    return Uint8Array.from(tile?.hashes.subarray(0, width * 32) ?? [])
  })
}
