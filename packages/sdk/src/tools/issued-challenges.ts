/** How long an agent may take to answer: the challenge passes through a conversation. */
const LIFETIME_MS = 5 * 60_000
/** The oldest challenges are evicted beyond this, to bound the memory. */
const MAX_ENTRIES = 10_000

/** Unanswered challenges, each for one agent, in the memory of this process. */
export class IssuedChallenges {
  readonly #now: () => number
  /** In order of issue. */
  readonly #open = new Map<string, { readonly did: string; readonly end: number }>()

  /** @param now the clock, in milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now
  }

  /** @returns when it expires, in milliseconds since 1970 */
  put(challenge: string, did: string): number {
    const now = this.#now()
    const end = now + LIFETIME_MS
    this.#open.set(challenge, { did, end })
    for (const [each, { end }] of this.#open) {
      if (end > now && this.#open.size <= MAX_ENTRIES) break
      this.#open.delete(each)
    }
    return end
  }

  /**
   * Removes a challenge, so that it counts for one answer.
   * @returns the DID that it was issued for; null if it was not issued here, has expired or was answered before
   */
  take(challenge: string): string | null {
    const entry = this.#open.get(challenge)
    this.#open.delete(challenge)
    return entry !== undefined && entry.end > this.#now() ? entry.did : null
  }
}
