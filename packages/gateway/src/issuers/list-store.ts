import {
  type FeedChange,
  STATUS_LIST_LENGTH,
  STATUS_VALUES,
  type StatusValue,
  setStatusAt,
  statusAt,
} from '@countersign/protocol'
import { statusIn, type TokenStatus } from '@countersign/sdk'

/** Changes that are remembered, to apply them to a list that was signed before them. */
const MAX_CHANGES = 10_000
/** Times in tokens are in whole seconds. */
const RESOLUTION_MS = 1_000

interface KnownList {
  readonly bytes: Uint8Array
  /** When it was signed: milliseconds of the issuer's clock. */
  readonly issuedAt: number
}

/**
 * The status lists of one issuer in memory, 32 KiB each. The lines of the feed are not signed: restrictions apply at once, and
 * the end of a suspension once a signed list has it.
 */
export class ListStore {
  readonly #lists = new Map<number, KnownList>()
  /** The newest change of each entry, in the order in which they came. */
  readonly #changes = new Map<string, FeedChange>()
  /** Lists in which a suspension is said to have ended, and when. Milliseconds of the issuer's clock. */
  readonly #unconfirmed = new Map<number, number>()

  /** @returns null if the list is not known */
  status(list: number, idx: number): TokenStatus | null {
    const known = this.#lists.get(list)
    return known === undefined ? null : statusIn(known, idx)
  }

  /** Lists to read again, because they are said to have changed in favor of an agent. */
  get unconfirmed(): readonly number[] {
    return [...this.#unconfirmed.keys()]
  }

  apply(change: FeedChange): void {
    const { list, idx, status, at } = change
    const key = `${list}:${idx}`
    this.#changes.delete(key)
    this.#changes.set(key, change)
    const [oldest] = this.#changes.keys()
    if (this.#changes.size > MAX_CHANGES && oldest !== undefined) this.#changes.delete(oldest)
    if (status !== STATUS_VALUES.valid) this.#restrict(list, idx, status)
    else if (this.#lists.has(list)) this.#unconfirmed.set(list, at)
  }

  /** Takes over a list that the issuer has signed, unless it is older than the known one. Later restrictions stay. */
  replace(list: number, { bytes, issuedAt }: KnownList): void {
    const known = this.#lists.get(list)
    if (known !== undefined && issuedAt < known.issuedAt - RESOLUTION_MS) return
    this.#lists.set(list, { bytes, issuedAt })
    for (const { list: n, idx, at, status } of this.#changes.values()) {
      if (n === list && at >= issuedAt - RESOLUTION_MS && status !== STATUS_VALUES.valid) {
        this.#restrict(list, idx, status)
      }
    }
    const said = this.#unconfirmed.get(list)
    if (said !== undefined && issuedAt >= said + RESOLUTION_MS) this.#unconfirmed.delete(list)
  }

  /**
   * Takes over all lists of a snapshot.
   * @param seq the newest event that is in them; null if another epoch has begun, whose numbers cannot be compared
   */
  replaceAll(
    lists: ReadonlyMap<number, Uint8Array>,
    { seq, issuedAt }: { readonly seq: number | null; readonly issuedAt: number },
  ): void {
    const later = [...this.#changes.values()].filter((each) => seq !== null && each.seq > seq)
    this.#lists.clear()
    this.#changes.clear()
    this.#unconfirmed.clear()
    for (const [list, bytes] of lists) this.#lists.set(list, { bytes, issuedAt })
    for (const each of later) this.apply(each)
  }

  /** What is invalid stays so: an entry is never used again. */
  #restrict(list: number, idx: number, status: StatusValue): void {
    const bytes = this.#lists.get(list)?.bytes
    if (bytes === undefined || idx >= STATUS_LIST_LENGTH) return
    if (statusAt(bytes, idx) !== STATUS_VALUES.invalid) setStatusAt(bytes, idx, status)
  }
}
