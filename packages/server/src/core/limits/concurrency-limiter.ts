import { CodedError } from '@countersign/protocol'

/**
 * One limiter for each kind of work, so that a flood of one kind does not delay the others. Past these numbers a longer
 * queue helps nobody: one core verifies 2,048 signatures, or writes 1,024 claims, in about 0.1 s. Each open stream costs
 * one session query a second. Pictures are drawn one at a time, and each upload holds 5 MiB of memory.
 */
function createLimiters() {
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

export type LimiterName = keyof ReturnType<typeof createLimiters>

/** The concurrency limiters of a process, and the counts of requests it has rejected with 503. */
export class LoadShedder {
  readonly limiters = createLimiters()
  /** Requests rejected because the process as a whole could not keep up. */
  rejectedUnderPressure = 0

  /** Rejected requests by reason: the name of the limiter, or `pressure`. */
  get rejected(): ReadonlyMap<string, number> {
    const counts = Object.entries(this.limiters).map(
      ([name, { rejected }]) => [name, rejected] as const,
    )
    return new Map([...counts, ['pressure', this.rejectedUnderPressure]])
  }

  /** Requests in progress, by the name of the limiter. */
  get active(): ReadonlyMap<string, number> {
    return new Map(Object.entries(this.limiters).map(([name, { active }]) => [name, active]))
  }
}

/** Limited work takes milliseconds, so that a retry a second later usually succeeds. */
const RETRY_AFTER_SECONDS = 1

/** Limits how much work of one kind is in progress at once. Work past the limit is rejected, not queued. */
export class ConcurrencyLimiter {
  readonly #max: number
  readonly #plural: string
  active = 0
  rejected = 0

  /**
   * @param max how many may be in progress at once
   * @param plural names the work in the error message, such as `claims`
   */
  constructor(max: number, plural: string) {
    this.#max = max
    this.#plural = plural
  }

  /** Takes a slot, to be given back by `release`. @throws CodedError UNAVAILABLE if all slots are taken */
  acquire(): void {
    this.assertCapacity()
    this.active += 1
  }

  release(): void {
    this.active -= 1
  }

  /** Takes no slot: for rejecting a request before its body is read. @throws CodedError UNAVAILABLE if all slots are taken */
  assertCapacity(): void {
    if (this.active < this.#max) return
    this.rejected += 1
    throw new CodedError(
      'UNAVAILABLE',
      `Too many ${this.#plural} at once. Nothing was done: try again in a second.`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    )
  }
}
