import { type Attempt, Attempts } from './attempts.ts'
import { OwnCounts, type SharedCounts } from './counts.ts'
import type { Limit } from './limits.ts'
import { costOf, type Rate, type Standing, standingOf } from './rate.ts'

export interface LimiterDeps {
  /** By the name of the limit; null, or none: no limit. */
  readonly rates: ReadonlyMap<string, Rate | null>
  readonly shared: SharedCounts
  /** HMAC of what is counted, so that no address is kept. */
  readonly keyOf: (text: string) => Uint8Array
  readonly now: () => number
  /** Told when counting together stops working, and when it works again. */
  readonly onShared: (works: boolean, error?: unknown) => void
}

/** Whose quota it is, for the database and for this process. Only the hash is kept: what somebody sends may be long. */
interface Key {
  readonly bytes: Uint8Array
  readonly name: string
}

/** After a failure nobody asks for so long: requests do not wait for it one by one. */
const PAUSE_MS = 1000
/**
 * So many questions are on their way at once, each of which is a write in front of claims and revocations. Whoever comes beside
 * them is counted by this process alone: to refuse would let a flood at one limit close all the others, and what there is
 * to do for a request has a bound of its own.
 */
const MOST_QUESTIONS = 512

/** Who has how much left of which limit. Counts alone where counting together fails: that is never an outage. */
export class Limiter {
  readonly #deps: LimiterDeps
  readonly #own = new OwnCounts()
  /** What all nodes had counted when last asked: others may have taken since then, so that at most that much is left. */
  readonly #seen = new OwnCounts()
  /** How many questions are on their way that each may take one. */
  readonly #taking = new Map<string, number>()
  /** Who only looks waits for whoever looks already. */
  readonly #looking = new Map<string, Promise<number | null>>()
  readonly #attempts = new Attempts()
  #isShared = true
  #pausedUntil = 0
  /** Requests refused, by limit. */
  readonly refused = new Map<string, number>()

  constructor(deps: LimiterDeps) {
    this.#deps = deps
    // Shown before the first one: an increase from nothing is none to Prometheus.
    for (const [name, rate] of deps.rates) if (rate !== null) this.refused.set(name, 0)
  }

  /** Whether the limits that nodes count together are counted so, as far as is known. */
  get isShared(): boolean {
    return this.#isShared
  }

  rateOf({ name }: Limit): Rate | null {
    return this.#deps.rates.get(name) ?? null
  }

  /** Takes one, where there is one left. @param who an address, a session or a token */
  take(limit: Limit, rate: Rate, who: string): Standing | Promise<Standing> {
    if (limit.counted === 'together') return this.#takeTogether(this.#keyOf(limit, who), rate)
    const now = this.#deps.now()
    const { wholeAt, taken } = this.#own.take(textOf(limit, who), rate, now)
    return standingOf(rate, wholeAt, now, taken)
  }

  /** Looks whether there is one left of what nodes count together, and takes none. */
  async look(limit: Limit, rate: Rate, who: string): Promise<Standing> {
    const key = this.#keyOf(limit, who)
    const now = this.#deps.now()
    const expected = this.#expect(key, rate, now)
    if (!expected.isAllowed) return expected
    const shared = await this.#lookTogether(key)
    return standingOf(rate, shared ?? this.#own.wholeAt(key.name), now, null)
  }

  /**
   * Begins what may fail, of those who have looked before; waits while as many are at it as may still fail. Nodes do not see
   * who tries at another: of those who fail at several at once, `take` decides who is told so.
   * @throws CodedError UNAVAILABLE: see `Attempts`
   */
  begin(limit: Limit, rate: Rate, who: string): Promise<Attempt> {
    const { name } = this.#keyOf(limit, who)
    return this.#attempts.begin(name, () => {
      const now = this.#deps.now()
      return standingOf(rate, this.#knownWholeAt(name, rate, now), now, null)
    })
  }

  countRefusal({ name }: Limit): void {
    this.refused.set(name, (this.refused.get(name) ?? 0) + 1)
  }

  #keyOf(limit: Limit, who: string): Key {
    const bytes = this.#deps.keyOf(textOf(limit, who))
    return { bytes, name: Buffer.from(bytes).toString('base64url') }
  }

  async #takeTogether(key: Key, rate: Rate): Promise<Standing> {
    const { name } = key
    const now = this.#deps.now()
    const expected = this.#expect(key, rate, now)
    if (!expected.isAllowed) return expected
    this.#taking.set(name, this.#takingOf(name) + 1)
    try {
      const shared = await this.#ask((counts) => counts.take(key.bytes, rate, now))
      if (shared !== null) this.#seen.set(name, shared.wholeAt, now)
      // What this node has counted alone says nothing once they count together again.
      const { wholeAt, taken } = shared ?? this.#own.take(name, rate, now)
      return standingOf(rate, wholeAt, now, taken)
    } finally {
      const others = this.#takingOf(name) - 1
      if (others === 0) this.#taking.delete(name)
      else this.#taking.set(name, others)
    }
  }

  /** @returns when the quota will be whole; null where they do not count together now */
  #lookTogether({ bytes, name }: Key): Promise<number | null> {
    const known = this.#looking.get(name)
    if (known !== undefined) return known
    const look = this.#ask((counts) => counts.wholeAt(bytes))
      .then((wholeAt) => {
        const now = this.#deps.now()
        // The answer may be older than that to somebody who has taken one since.
        if (wholeAt !== null) this.#seen.set(name, Math.max(wholeAt, this.#seen.wholeAt(name)), now)
        return wholeAt
      })
      .finally(() => this.#looking.delete(name))
    this.#looking.set(name, look)
    return look
  }

  /**
   * What will at most be left once those have their answers who ask already. Where that is nothing, one question more could
   * bring no other answer.
   */
  #expect({ name }: Key, rate: Rate, now: number): Standing {
    const taking = this.#takingOf(name) * costOf(rate)
    return standingOf(rate, this.#knownWholeAt(name, rate, now) + taking, now, null)
  }

  #takingOf(name: string): number {
    return this.#taking.get(name) ?? 0
  }

  /** When a quota will be whole as far as this process knows, from now on. */
  #knownWholeAt(name: string, rate: Rate, now: number): number {
    const seen = this.#seen.wholeAt(name)
    // What was seen before the clock was set back says nothing.
    const known = seen > now + rate.windowMs + 0.001 ? 0 : seen
    return Math.max(known, this.#isPaused() ? this.#own.wholeAt(name) : 0, now)
  }

  #isPaused(): boolean {
    return performance.now() < this.#pausedUntil
  }

  /** @returns null where counting together does not work now, or too many ask */
  async #ask<T>(question: (counts: SharedCounts) => Promise<T>): Promise<T | null> {
    const { shared } = this.#deps
    if (this.#isPaused() || shared.waiting >= MOST_QUESTIONS) return null
    try {
      const answer = await question(shared)
      this.#tell(true)
      return answer
    } catch (error) {
      this.#pausedUntil = performance.now() + PAUSE_MS
      this.#tell(false, error)
      return null
    }
  }

  #tell(works: boolean, error?: unknown): void {
    if (works === this.#isShared) return
    this.#isShared = works
    this.#deps.onShared(works, error)
  }
}

function textOf({ name }: Limit, who: string): string {
  return `${name} ${who}`
}
