import type { Socket } from 'node:net'
import { CodedError } from '@countersign/protocol'
import { deferWork, isFlooded } from '../../base/loop-turn.ts'

/**
 * One limiter for each kind of work, so that a flood of one kind does not delay the others. Past these numbers a longer
 * queue helps nobody: one core verifies 2,048 signatures, or writes 1,024 claims, in about 0.1 s. Both are also limited by
 * how long they would wait, since a busy machine is slower. Each open stream costs one session query a second. Pictures
 * are drawn one at a time, and each upload holds 5 MiB of memory.
 */
function createLimiters() {
  return {
    verifications: new ConcurrencyLimiter(2048, 'verifications', 500),
    claims: new ConcurrencyLimiter(1024, 'claims', 1000),
    'sign-ins': new ConcurrencyLimiter(512, 'sign-ins'),
    changes: new ConcurrencyLimiter(1024, 'changes'),
    reads: new ConcurrencyLimiter(4096, 'requests'),
    streams: new ConcurrencyLimiter(1000, 'streams'),
    'feed-reads': new ConcurrencyLimiter(500, 'readers of the status feed'),
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
  readonly #isTrustedProxy: (address: string) => boolean

  /** @param isTrustedProxy whether a connection from this address carries the requests of many clients */
  constructor(isTrustedProxy: (address: string) => boolean) {
    this.#isTrustedProxy = isTrustedProxy
  }

  /**
   * In a flood, reads nothing more from a rejected client for a second or two, as `Retry-After` asks: rejecting thousands of
   * immediate retries would leave no time for what is admitted.
   */
  rest(socket: Socket): void {
    if (!isFlooded() || this.#isTrustedProxy(socket.remoteAddress ?? '')) return
    // Not yet: Node reads on to discard the body of the request.
    deferWork(() => socket.pause())
    // Random, so that they do not all come back at once.
    setTimeout(() => socket.resume(), REST_MS * (1 + Math.random())).unref()
  }

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

const REST_MS = 1000
/** Limited work takes milliseconds, so that a retry a second later usually succeeds. */
const RETRY_AFTER_SECONDS = 1

/** So many are admitted however long they take, since a single slow one says nothing about the next. */
const ALWAYS_ADMITTED = 64
/** The weight of the newest interval in the average: that of some hundred matters. */
const NEWEST = 1 / 256

/** Limits how much work of one kind is in progress at once. Work past the limit is rejected, not queued. */
export class ConcurrencyLimiter {
  readonly #max: number
  readonly #plural: string
  readonly #maxWaitMs: number
  /** The moving average of the time between two completions while there was work. */
  #intervalMs = 0
  #completedAt = 0
  active = 0
  rejected = 0

  /**
   * @param max how many may be in progress at once
   * @param plural names the work in the error message, such as `claims`
   * @param maxWaitMs work that would wait longer for its completion is rejected too
   */
  constructor(max: number, plural: string, maxWaitMs = Number.POSITIVE_INFINITY) {
    this.#max = max
    this.#plural = plural
    this.#maxWaitMs = maxWaitMs
  }

  /** Takes a slot, to be given back by `release`. @throws CodedError UNAVAILABLE if all slots are taken */
  acquire(): void {
    this.assertCapacity()
    if (this.active === 0) this.#completedAt = performance.now()
    this.active += 1
  }

  release(): void {
    this.active -= 1
    const now = performance.now()
    this.#intervalMs += (now - this.#completedAt - this.#intervalMs) * NEWEST
    this.#completedAt = now
  }

  /** Takes no slot: for rejecting a request before its body is read. @throws CodedError UNAVAILABLE if all slots are taken */
  assertCapacity(): void {
    const isFull = this.active >= this.#max
    const isSlow = this.active * this.#intervalMs > this.#maxWaitMs
    if (!isFull && (!isSlow || this.active < ALWAYS_ADMITTED)) return
    this.rejected += 1
    throw new CodedError(
      'UNAVAILABLE',
      `Too many ${this.#plural} at once. Nothing was done: try again in a second.`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    )
  }
}
