import { costOf, type Rate } from './rate.ts'

/** When a quota will be whole, in milliseconds since 1970, and whether one was taken of it. */
export interface Taken {
  readonly wholeAt: number
  readonly taken: boolean
}

/** Where quotas are kept that all nodes share. A failure of any kind is for the caller to live with. */
export interface SharedCounts {
  /** How many questions have no answer yet, those among them that nobody waits for any more. */
  readonly waiting: number
  /** Takes one where there is one left; of all who ask at once no more get one than there are. */
  take(key: Uint8Array, rate: Rate, now: number): Promise<Taken>
  /** @returns when it will be whole; anything up to now where it is */
  wholeAt(key: Uint8Array): Promise<number>
}

/** So many are known at once; beyond them the one that came first is forgotten. */
const MOST_KEYS = 100_000

/** Quotas in the memory of this process. */
export class OwnCounts {
  readonly #wholeAt = new Map<string, number>()

  take(key: string, rate: Rate, now: number): Taken {
    const end = now + rate.windowMs
    const from = Math.min(Math.max(this.wholeAt(key), now), end)
    const next = from + costOf(rate)
    const taken = next <= end + 0.001
    const wholeAt = taken ? next : from
    this.set(key, wholeAt, now)
    return { wholeAt, taken }
  }

  wholeAt(key: string): number {
    return this.#wholeAt.get(key) ?? 0
  }

  set(key: string, wholeAt: number, now: number): void {
    // Inserted anew: whoever came last stands last.
    this.#wholeAt.delete(key)
    if (this.#wholeAt.size >= MOST_KEYS) this.#makeRoom(now)
    this.#wholeAt.set(key, wholeAt)
  }

  #makeRoom(now: number): void {
    for (const [key, wholeAt] of this.#wholeAt) if (wholeAt <= now) this.#wholeAt.delete(key)
    const [first] = this.#wholeAt.keys()
    if (first !== undefined && this.#wholeAt.size >= MOST_KEYS) this.#wholeAt.delete(first)
  }
}
