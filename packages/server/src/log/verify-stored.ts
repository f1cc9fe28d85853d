import {
  type ChainedChange,
  type Checkpoint,
  chainAfter,
  emptyTreeRoot,
  encodeBase64,
  LOG_ENTRY_MAX_BYTES,
  openCheckpoint,
  TILE_WIDTH,
  TREE_HASH_BYTES,
  utf8,
} from '@countersign/protocol'
import { feedRowsAfter, startOfFeed } from '../agents/changes/feed-change-table.ts'
import type { Db } from '../database/database.ts'
import type { LogEntryRow, LogEpochRow } from '../database/schema/log-rows.ts'
import type { FeedChangeRow } from '../database/schema/status-rows.ts'
import { isValidSignature } from '../secrets/ed25519.ts'
import { allEpochs, entriesFrom, keyOfEpoch, tilesAt } from './log-table.ts'
import { type StoredTile, TreeEdge } from './tree-edge.ts'
import { commitmentOf, leafHash } from './tree-hash.ts'

/** Entries that are read and hashed at once, in a few milliseconds. */
const STEP = 1000

/** A pass over what is stored, which ends with what is wrong first; null: nothing. */
type Steps = AsyncGenerator<void, string | null>

/**
 * Recomputes every leaf, tile and root of all epochs from the entries, what commitments open to, the signature of each checkpoint,
 * and the chain of the status feed. Other writers may append entries meanwhile.
 * @returns what differs first, with its index; null: nothing
 */
export async function verifyStored(db: Db): Promise<string | null> {
  const steps = stepsOfStored(db)
  for (;;) {
    const { done, value } = await steps.next()
    if (done) return value
  }
}

async function* stepsOfStored(db: Db): Steps {
  for (const row of await allEpochs(db)) {
    const fault = yield* stepsOfEpoch(db, row)
    if (fault !== null) return `${row.origin}: ${fault}`
  }
  return yield* stepsOfFeed(db)
}

/** The chain of the status feed, from the oldest change that is kept. An epoch that begins meanwhile ends the pass. */
async function* stepsOfFeed(db: Db): Steps {
  let [last] = await feedRowsAfter(db, 0, 1)
  if (last === undefined) return null
  if (last.n === 1) {
    const chain = chainAfter(await startOfFeed(db, last.epoch), lineOf(last))
    if (!isSame(chain, last.chain)) return chainFault(1)
  }
  for (;;) {
    const rows = await feedRowsAfter(db, last.n, STEP)
    for (const row of rows) {
      if (row.epoch !== last.epoch) return null
      const line = lineOf(row)
      if (row.n !== last.n + 1) return `change ${last.n + 1} of the status feed is missing`
      if (!isSame(chainAfter(last.chain, line), row.chain)) return chainFault(row.n)
      last = row
    }
    if (rows.length < STEP) return null
    yield
  }
}

function lineOf({ n, list, idx, value }: FeedChangeRow): ChainedChange {
  return { n, list, idx, status: value }
}

function chainFault(n: number): string {
  return `change ${n} of the status feed does not have the value of the chain`
}

async function* stepsOfEpoch(db: Db, row: LogEpochRow): Steps {
  const { epoch, size, published_size } = row
  let edge = new TreeEdge(0, [])
  let published = published_size === 0 ? emptyTreeRoot() : null
  while (edge.size < size) {
    const from = edge.size
    const rows = await entriesFrom(db, epoch, from, Math.min(STEP, size - from))
    for (const [i, entry] of rows.entries()) {
      const index = from + i
      if (entry.position !== index) return `entry ${index} is missing`
      const fault = entryFault(entry)
      if (fault !== null) return `entry ${index} ${fault}`
      edge.append(leafHash(utf8(entry.entry)))
      if (edge.size === published_size) published = edge.root()
    }
    if (edge.size < Math.min(from + STEP, size)) return `entry ${edge.size} is missing`
    const tiles = edge.takeTiles()
    const isLast = edge.size === size
    const complete = tiles.filter(({ hashes }) => hashes.length === TILE_WIDTH * TREE_HASH_BYTES)
    const fault = await tileFault(db, epoch, isLast ? tiles : complete)
    if (fault !== null) return fault
    edge = new TreeEdge(edge.size, tiles)
    yield
  }
  if (!isSame(edge.root(), row.root)) return `the root of ${size} entries is not that of the tree`
  return checkpointFault(row, published)
}

/** What is wrong with a row beside what the tree covers: whose entry it is, and what its commitment opens to. */
function entryFault({ tail, entry, salt, evidence }: LogEntryRow): string | null {
  if (entry.length >= LOG_ENTRY_MAX_BYTES) return 'is too long'
  const [, shortName, subject] = /"did":"([a-z0-9]+):agent:([^"]+)"/.exec(entry) ?? []
  if ((subject ?? null) !== tail) return 'is stored as one about another agent'
  if (salt === null && evidence === null) return null
  const isOpened =
    shortName !== undefined &&
    salt?.length === 32 &&
    evidence !== null &&
    entry.includes(`"commitment":"${commitmentOf({ shortName }, salt, evidence)}"`)
  return isOpened ? null : 'has a commitment that its salt and evidence do not open'
}

/** Compares tiles with those that are stored, which may be wider by now. */
async function tileFault(
  db: Db,
  epoch: number,
  tiles: readonly StoredTile[],
): Promise<string | null> {
  const stored = await tilesAt(db, epoch, tiles)
  for (const { level, position, hashes } of tiles) {
    const found = stored.find((each) => each.level === level && each.position === position)
    const place = firstDifference(hashes, found?.hashes ?? new Uint8Array())
    if (place === null) continue
    const index = (position * TILE_WIDTH + place) * TILE_WIDTH ** level
    return level === 0
      ? `entry ${index} does not have the hash that is in the tree`
      : `tile ${position} of level ${level} does not have the hash of the entries from ${index} on`
  }
  return null
}

/** The number of the first hash that differs; null: none. */
function firstDifference(hashes: Uint8Array, stored: Uint8Array): number | null {
  if (isSame(hashes, stored.subarray(0, hashes.length))) return null
  const at = hashes.findIndex((byte, i) => byte !== stored[i])
  return Math.floor(at / TREE_HASH_BYTES)
}

async function checkpointFault(
  row: LogEpochRow,
  published: Uint8Array | null,
): Promise<string | null> {
  const { origin, published_size: size, published_root: root, checkpoint: signed } = row
  if (signed === null) return size === 0 ? null : 'the checkpoint is missing'
  if (published === null) return `the checkpoint has ${size} entries, more than are stored`
  if (!isSame(published, root ?? emptyTreeRoot())) {
    return `the root of the checkpoint of ${size} entries is not that of the tree`
  }
  const opened = await openCheckpoint(signed, keyOfEpoch(row), isValidSignature)
  const is: Checkpoint | undefined = opened?.checkpoint
  if (is?.size === size && isSame(is.root, published)) return null
  return `the checkpoint of ${size} entries is not signed by the key of ${origin}, or signs another root than ${encodeBase64(published)}`
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

/** After a start, other work comes first. */
const FIRST_AFTER_MS = 60_000
const AGAIN_AFTER_MS = 86_400_000

/** Verifies what a node has stored once a day, in steps that delay nothing else. */
export class DailyCheck {
  readonly #db: Db
  readonly #elapsed: () => number
  #steps: Steps | null = null
  #beginsAt: number
  #endedAt: number
  #fault: string | null = null

  /** @param elapsed a clock that never goes back, in milliseconds */
  constructor(db: Db, elapsed: () => number) {
    this.#db = db
    this.#elapsed = elapsed
    this.#endedAt = elapsed()
    this.#beginsAt = this.#endedAt + FIRST_AFTER_MS
  }

  /** What the last check has found; null: nothing, or none has ended yet. */
  get fault(): string | null {
    return this.#fault
  }

  /** Seconds since a check has ended; before the first one since the start. */
  get age(): number {
    return (this.#elapsed() - this.#endedAt) / 1000
  }

  /** Takes a step, if a check is due or under way. @throws Error if a check ends with a difference */
  async step(): Promise<void> {
    if (this.#steps === null && this.#elapsed() < this.#beginsAt) return
    this.#steps ??= stepsOfStored(this.#db)
    try {
      const { done, value } = await this.#steps.next()
      if (!done) return
      this.#fault = value
    } catch (error) {
      // The database did not answer: begin again.
      this.#steps = null
      throw error
    }
    this.#steps = null
    this.#endedAt = this.#elapsed()
    this.#beginsAt = this.#endedAt + AGAIN_AFTER_MS
    if (this.#fault !== null) throw new Error(this.#fault)
  }
}
