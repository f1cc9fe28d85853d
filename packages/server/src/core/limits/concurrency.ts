import { CodedError } from '@countersign/protocol'

/**
 * How many requests of each kind are worked on at once in a process. What one kind of them waits for, and how many of
 * them strangers send, keeps no other kind from its turn. The numbers are where waiting any longer helps nobody:
 * a core verifies 2,048 signatures, and writes 1,024 claims, in about a tenth of a second. Of each open stream the
 * database is asked every second whether its session still is. Pictures are made one at a time; those that owners send
 * are 5 MiB in memory each.
 */
function limiters() {
  return {
    verifications: new ConcurrencyLimiter(2048, 'verifications'),
    claims: new ConcurrencyLimiter(1024, 'claims'),
    'sign-ins': new ConcurrencyLimiter(512, 'sign-ins'),
    changes: new ConcurrencyLimiter(1024, 'changes'),
    reads: new ConcurrencyLimiter(4096, 'requests'),
    streams: new ConcurrencyLimiter(1000, 'streams'),
    pictures: new ConcurrencyLimiter(8, 'pictures'),
    previews: new ConcurrencyLimiter(40, 'previews'),
  }
}

export type LimiterName = keyof ReturnType<typeof limiters>

/** How busy a process is, and how often it has refused for that. */
export class Overload {
  readonly limiters = limiters()
  /** Requests refused because the process as a whole could not keep up. */
  refusedUnderPressure = 0

  /** Refusals by reason: the name of a room that was full, or `pressure`. */
  get refused(): ReadonlyMap<string, number> {
    const counts = Object.entries(this.limiters).map(
      ([name, { refused }]) => [name, refused] as const,
    )
    return new Map([...counts, ['pressure', this.refusedUnderPressure]])
  }

  /** Requests that are being worked on, by room. */
  get inside(): ReadonlyMap<string, number> {
    return new Map(Object.entries(this.limiters).map(([name, { inside }]) => [name, inside]))
  }
}

/** What is waited for in a room is a matter of milliseconds: whoever is turned away finds a place a second later. */
const RETRY_AFTER_SECONDS = 1

/** So many requests of one kind are worked on at once, and no more wait: the next is told to come back. */
export class ConcurrencyLimiter {
  readonly #most: number
  readonly #whatFor: string
  inside = 0
  refused = 0

  /** @param whatFor what there is too much of, in the middle of a sentence */
  constructor(most: number, whatFor: string) {
    this.#most = most
    this.#whatFor = whatFor
  }

  /** @throws CodedError UNAVAILABLE where it is full */
  enter(): void {
    this.requireSpace()
    this.inside += 1
  }

  leave(): void {
    this.inside -= 1
  }

  /** @throws CodedError UNAVAILABLE where it is full, for those who need not read on */
  requireSpace(): void {
    if (this.inside < this.#most) return
    this.refused += 1
    throw new CodedError(
      'UNAVAILABLE',
      `Too many ${this.#whatFor} at once. Nothing was done: try again in a second.`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    )
  }
}
