import type { IssuerJwk } from '@countersign/protocol'
import type { IssuerRequests } from './issuer-requests.ts'

/** How long the issuer is left alone after a request for its keys. */
const PAUSE_MS = 5_000
/** A key that the issuer no longer lists is not trusted for longer than this. */
const MAX_AGE_MS = 5 * 60_000

/** The keys of one issuer that count. */
export class IssuerKeyRing {
  readonly #requests: IssuerRequests
  readonly #pinned: readonly IssuerJwk[] | null
  readonly #elapsed: () => number
  readonly #onRemoved: () => void
  #published: readonly IssuerJwk[] | null = null
  #askedAt = Number.NEGATIVE_INFINITY
  #confirmedAt: number
  #asking: Promise<void> | null = null

  /**
   * @param pinned the keys of the policy, of which those count that the issuer has not removed; null: all that it lists
   * @param elapsed a monotonic clock, in milliseconds
   * @param onRemoved called when a key no longer counts
   */
  constructor(
    requests: IssuerRequests,
    pinned: readonly IssuerJwk[] | null,
    elapsed: () => number,
    onRemoved: () => void,
  ) {
    this.#requests = requests
    this.#pinned = pinned
    this.#elapsed = elapsed
    this.#onRemoved = onRemoved
    this.#confirmedAt = elapsed()
  }

  get keys(): readonly IssuerJwk[] {
    const published = this.#published
    if (this.#pinned === null) return published ?? []
    if (published === null) return this.#pinned
    return this.#pinned.filter(({ kid }) => published.some((each) => each.kid === kid))
  }

  has(kid: string): boolean {
    return this.keys.some((each) => each.kid === kid)
  }

  /** By how much the keys were confirmed too long ago, in milliseconds; 0 if they were confirmed in time. */
  get overdueMs(): number {
    return Math.max(0, this.#elapsed() - this.#confirmedAt - MAX_AGE_MS)
  }

  /** The keys, read again if none of them is this one. */
  async including(kid: string, signal: AbortSignal): Promise<readonly IssuerJwk[]> {
    if (!this.has(kid)) await this.refresh(signal)
    return this.keys
  }

  /** Reads the keys again, unless that was just done. Never rejects: the known keys stay. */
  refresh(signal: AbortSignal): Promise<void> {
    if (this.#asking !== null) return this.#asking
    if (this.#elapsed() - this.#askedAt < PAUSE_MS) return Promise.resolve()
    this.#askedAt = this.#elapsed()
    this.#asking = this.#read(signal)
      .catch(() => undefined)
      .finally(() => {
        this.#asking = null
      })
    return this.#asking
  }

  async #read(signal: AbortSignal): Promise<void> {
    const askedAt = this.#elapsed()
    const published = await this.#requests.keys(signal)
    const before = this.keys
    this.#published = published
    this.#confirmedAt = askedAt
    if (before.some(({ kid }) => !this.has(kid))) this.#onRemoved()
  }
}
