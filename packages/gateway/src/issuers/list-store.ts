import {
  type ChainPosition,
  FeedChain,
  FeedChainError,
  type FeedChange,
  STATUS_LIST_LENGTH,
  STATUS_VALUES,
  type StatusValue,
  setStatusAt,
  statusAt,
} from '@countersign/protocol'
import { type FeedPosition, statusIn, type TokenStatus } from '@countersign/sdk'

/** Confirmed changes that are remembered, to apply them to a list that was fetched alone and is older. */
const MAX_CHANGES = 10_000
/** Lines without a head. An issuer sends one every second. */
const MAX_UNCONFIRMED = 100_000
/** How much newer a verified position has to be than a restriction of an unsigned line that it does not have. */
const SETTLED_MS = 5_000

/** What is known of an entry. */
export interface ListedStatus {
  readonly status: TokenStatus
  /** The place in the feed that the status is of, or newer; null without a verified head: then a restriction counts for good. */
  readonly feed: FeedPosition | null
}

interface KnownList {
  readonly bytes: Uint8Array
  /** Lines up to here are in it. */
  n: number
}

/** A restriction that only an unsigned line states. */
interface Restriction extends FeedPosition {
  readonly status: StatusValue
  readonly arrivedAt: number
}

/** A snapshot or list is older than what was verified, or of another epoch. */
export class RefusedList extends Error {
  override readonly name = 'RefusedList'
}

/**
 * The status lists of one issuer in memory, 32 KiB each. The lines of the feed are not signed: a restriction applies at once, in an
 * overlay; everything else once a verified head confirms the line. Pure: callers have verified signatures, and pass the time.
 */
export class ListStore {
  readonly #lists = new Map<number, KnownList>()
  /** By entry. Stays until a verified position has it, or is so much newer that it would have it. */
  readonly #overlay = new Map<string, Restriction>()
  /** Null until lists were read, or after the key of the newest head was removed. */
  #verified: ChainPosition | null = null
  #chain: FeedChain<FeedChange> | null = null
  /** The newest confirmed changes, without gaps: the first has the number after `#recentFrom`. */
  #recent: FeedChange[] = []
  #recentFrom = 0

  /** The newest verified position. */
  get verified(): ChainPosition | null {
    return this.#verified
  }

  /** @returns null if nothing is known of the entry */
  status(list: number, idx: number): ListedStatus | null {
    const known = this.#lists.get(list)
    const restriction = this.#restrictionOf(list, idx, known)
    if (known === undefined) return restriction && restricted(restriction)
    const status = statusIn(known, idx)
    if (restriction !== null && status !== 'invalid') return restricted(restriction)
    const verified = this.#verified
    const feed = verified && { epoch: verified.epoch, n: Math.max(verified.n, known.n) }
    return { status, feed }
  }

  #restrictionOf(list: number, idx: number, known: KnownList | undefined): Restriction | null {
    const restriction = this.#overlay.get(keyOf(list, idx))
    if (restriction === undefined) return null
    const isIn = restriction.epoch === this.#verified?.epoch && restriction.n <= (known?.n ?? 0)
    return isIn ? null : restriction
  }

  /**
   * Takes over all lists of a verified snapshot.
   * @throws RefusedList if it is older than what is known, or of another history
   */
  takeSnapshot(position: ChainPosition, lists: ReadonlyMap<number, Uint8Array>): void {
    const known = this.#verified
    const isSameEpoch = known?.epoch === position.epoch
    if (known !== null) {
      if (position.asOf < known.asOf || (isSameEpoch && position.n < known.n)) {
        throw new RefusedList('the snapshot is older than what is known')
      }
      if (isSameEpoch && position.n === known.n && position.chain !== known.chain) {
        throw new RefusedList('the snapshot has another history than what is known')
      }
    }
    for (const [list, { n }] of this.#lists) {
      // Fetched alone since: newer than the snapshot.
      if (!isSameEpoch || n <= position.n) this.#lists.delete(list)
    }
    for (const [list, bytes] of lists) {
      if (!this.#lists.has(list)) this.#lists.set(list, { bytes, n: position.n })
    }
    this.#recent = []
    this.#recentFrom = position.n
    this.#verify(position)
    this.#chain = new FeedChain(position)
  }

  /**
   * Takes the next line of the feed: a restriction applies at once.
   * @param now milliseconds since 1970
   * @throws FeedChainError if it is not the next one
   */
  applyLine(line: FeedChange, now: number): void {
    const chain = this.#chain
    if (chain === null || this.#verified === null) throw new RefusedList('no lists are known')
    chain.apply(line)
    if (Math.max(chain.unconfirmed.length, this.#overlay.size) > MAX_UNCONFIRMED) {
      throw new FeedChainError('position', 'too many lines without a head')
    }
    const { n, list, idx, status } = line
    if (status === STATUS_VALUES.valid || n <= (this.#lists.get(list)?.n ?? 0)) return
    const key = keyOf(list, idx)
    // What is invalid stays so: an entry is never used again.
    const isInvalid = this.#overlay.get(key)?.status === STATUS_VALUES.invalid
    const { epoch } = this.#verified
    const known = isInvalid ? STATUS_VALUES.invalid : status
    this.#overlay.set(key, { status: known, epoch, n, arrivedAt: now })
  }

  /**
   * Compares the lines with a verified head, and applies those that it confirms.
   * @returns false if the head is not newer than what is known: then it says nothing
   * @throws FeedChainError if it commits to other lines
   */
  acceptHead(position: ChainPosition): boolean {
    const confirmed = this.#chain?.accept(position) ?? 'older'
    if (confirmed === 'older') return false
    for (const line of confirmed) this.#confirm(line)
    this.#verify(position)
    return true
  }

  /** Forgets the lines that no head has confirmed. Their restrictions stay. */
  reconnect(): void {
    this.#chain = this.#verified && new FeedChain(this.#verified)
  }

  /**
   * Takes over a verified list that was fetched alone, and applies the later changes to it.
   * @param feed the place that it names
   * @throws RefusedList if it is older than what is known, or of another epoch
   */
  takeList(list: number, bytes: Uint8Array, feed: FeedPosition | null): void {
    const verified = this.#verified
    if (verified === null || feed?.epoch !== verified.epoch) {
      throw new RefusedList('the list has no place in this feed')
    }
    const oldest = Math.max(this.#recentFrom, this.#lists.get(list)?.n ?? 0)
    if (feed.n < oldest) throw new RefusedList('the list is older than what is known')
    const known: KnownList = { bytes, n: feed.n }
    for (const line of this.#recent) if (line.list === list) applyTo(known, line)
    known.n = Math.max(feed.n, verified.n)
    this.#lists.set(list, known)
  }

  /** What was verified no longer counts: its key was removed. A restriction stays. */
  distrust(): void {
    this.#verified = null
    this.#chain = null
  }

  #confirm(line: FeedChange): void {
    this.#recent.push(line)
    if (this.#recent.length > 2 * MAX_CHANGES) {
      this.#recentFrom += this.#recent.splice(0, MAX_CHANGES).length
    }
    const known = this.#lists.get(line.list)
    if (known !== undefined) applyTo(known, line)
  }

  #verify({ epoch, n, chain, asOf }: ChainPosition): void {
    this.#verified = { epoch, n, chain, asOf }
    for (const known of this.#lists.values()) known.n = Math.max(known.n, n)
    for (const [key, each] of this.#overlay) {
      const isIn = each.epoch === epoch && each.n <= n
      if (isIn || asOf >= each.arrivedAt + SETTLED_MS) this.#overlay.delete(key)
    }
  }
}

function keyOf(list: number, idx: number): string {
  return `${list}:${idx}`
}

function restricted({ status, epoch, n }: Restriction): ListedStatus {
  return {
    status: status === STATUS_VALUES.suspended ? 'suspended' : 'invalid',
    feed: { epoch, n },
  }
}

/** Applies a confirmed line, unless it is in the list. What is invalid stays so. */
function applyTo({ bytes, n: known }: KnownList, { n, idx, status }: FeedChange): void {
  if (n <= known || idx >= STATUS_LIST_LENGTH) return
  if (statusAt(bytes, idx) !== STATUS_VALUES.invalid) setStatusAt(bytes, idx, status)
}
