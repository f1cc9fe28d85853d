/** How long an agent may take to answer: the challenge goes through a conversation and back. */
const LIFETIME_MS = 5 * 60_000
/** Beyond that the oldest go, so that asking for challenges fills no memory. */
const MAX_ENTRIES = 10_000

/** Challenges that were made for an agent and that nobody has answered yet, in the memory of this process. */
export class IssuedChallenges {
  readonly #now: () => number
  /** In the order in which they were made. */
  readonly #open = new Map<string, { readonly did: string; readonly end: number }>()

  /** @param now the clock, in milliseconds since 1970 */
  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** @returns when it ends, in milliseconds since 1970 */
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
   * Takes a challenge out, whatever comes of its answer.
   * @returns the DID that it was made for, or null where it was not made here, is too old or has been answered
   */
  take(challenge: string): string | null {
    const entry = this.#open.get(challenge)
    this.#open.delete(challenge)
    return entry !== undefined && entry.end > this.#now() ? entry.did : null
  }
}
