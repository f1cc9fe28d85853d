import { hash } from 'node:crypto'
import type { PassThrough } from 'node:stream'
import type { FeedChange } from '@countersign/protocol'
import type { FeedHeads } from './feed-heads.ts'
import { type Client, FeedStreams, type Subscriber } from './feed-streams.ts'
import { type CurrentPosition, POLLED_CHANGES, type StatusState } from './status-state.ts'

/** How often `tick` is to be called, in milliseconds: a head follows a change within this time. */
export const TICK_MS = 1000
/** How often heads are signed while nothing changes: every 5 seconds. */
const TICKS_PER_HEAD = 5
/** Of the answer to those who poll. */
const LATEST_BYTES = 4096
/** A head that is older has expired, and a follower could do nothing with it. */
const MAX_LATEST_AGE_MS = 60_000

/** How lines are written: as NDJSON, or as server-sent events. */
export interface FeedFormat {
  change(change: FeedChange): string
  head(token: string): string
  /** Keeps the connection open while there is no head. */
  readonly heartbeat: string
}

export const NDJSON: FeedFormat = {
  change: (change) => `${JSON.stringify(change)}\n`,
  head: (head) => `${JSON.stringify({ head })}\n`,
  heartbeat: '\n',
}

/** The newest changes and a head, the same bytes for everybody. */
export interface LatestFeed {
  readonly body: Buffer
  readonly etag: string
}

interface Clocks {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** A clock that never goes back, in milliseconds. */
  readonly elapsed: () => number
}

/** Sends the feed to those who follow it. */
export class StatusFeed {
  readonly #state: StatusState
  readonly #heads: FeedHeads
  readonly #clocks: Clocks
  readonly #streams = new FeedStreams()
  /** When this node last knew the database and could sign, in milliseconds since 1970. */
  #signedAsOf: number
  /** The place of the newest head that was sent. */
  #sent: CurrentPosition | null = null
  /** Whether there are changes since the newest head. */
  #hasChanged = true
  /** Calls of `tick` since the newest head. */
  #ticks = 0
  /** When the newest head was signed, by the monotonic clock. */
  #headAt: number
  #latest: LatestFeed | null = null

  constructor(state: StatusState, heads: FeedHeads, clocks: Clocks) {
    this.#state = state
    this.#heads = heads
    this.#clocks = clocks
    this.#signedAsOf = clocks.now()
    this.#headAt = clocks.elapsed()
    state.addListener({
      onChange: () => {
        this.#hasChanged = true
        for (const each of this.#streams) each.wake()
        // At once, so that those who poll need not wait for a tick as well. At most one signature a second.
        if (this.#clocks.elapsed() - this.#headAt >= TICK_MS) void this.#sendHead()
      },
      onEpochEnd: () => {
        this.#hasChanged = true
        this.endAll()
      },
    })
  }

  /** Open streams. */
  get subscribers(): number {
    return this.#streams.count
  }

  /** Streams that were ended for those of other networks. */
  get evicted(): number {
    return this.#streams.evicted
  }

  /** Seconds since the state of the newest signed head. */
  get ageSeconds(): number {
    return (this.#clocks.now() - this.#signedAsOf) / 1000
  }

  /** The place of the newest head that was sent; null before the first. */
  get sent(): CurrentPosition | null {
    return this.#sent
  }

  /** The newest changes and a head, made once for each head. Null if there is none that could be of use. */
  get latest(): LatestFeed | null {
    return this.#clocks.now() - this.#signedAsOf < MAX_LATEST_AGE_MS ? this.#latest : null
  }

  /** Signs a head and sends it to all subscribers, every five seconds or if there are changes. Call it every `TICK_MS`. */
  async tick(): Promise<void> {
    const now = this.#clocks.elapsed()
    for (const each of this.#streams) each.endIfOld(now)
    this.#ticks += 1
    if (!this.#hasChanged && this.#ticks < TICKS_PER_HEAD) return
    await this.#sendHead()
  }

  async #sendHead(): Promise<void> {
    this.#ticks = 0
    this.#headAt = this.#clocks.elapsed()
    try {
      const { position } = this.#state
      this.#hasChanged = false
      const head = await this.#heads.at(position)
      this.#latest = await this.#latestOf(position, head)
      this.#signedAsOf = position.asOf
      this.#sent = position
    } catch {
      // The age of the newest head shows it, here and to those who follow the feed.
      this.#hasChanged = true
    }
    for (const each of this.#streams) each.headDue()
  }

  async #latestOf(position: CurrentPosition, head: string): Promise<LatestFeed> {
    const { n: upTo } = position
    const { changes } = await this.#state.changes(Math.max(0, upTo - POLLED_CHANGES), upTo)
    const last = NDJSON.head(head)
    const lines = changes.map(NDJSON.change)
    let bytes = last.length
    const from = lines.findLastIndex((line) => {
      bytes += line.length
      return bytes > LATEST_BYTES
    })
    const body = Buffer.from(lines.slice(from + 1).join('') + last)
    return { body, etag: `"${hash('sha1', body, 'base64url')}"` }
  }

  /**
   * The lines after a change up to the newest one, and a head.
   * @param format how to write them
   */
  async *lines(after: number, format: FeedFormat): AsyncGenerator<string> {
    const { position } = this.#state
    yield* this.#changes(after, position, format)
    yield format.head(await this.#heads.at(position))
  }

  async *#changes(
    after: number,
    { n: upTo, epoch }: CurrentPosition,
    format: FeedFormat,
  ): AsyncGenerator<string> {
    for (let from = after; from < upTo; ) {
      const { changes, next } = await this.#state.changes(from, upTo)
      // While a slow client reads, another epoch may have begun.
      if (this.#state.position.epoch !== epoch) throw new Error('another epoch has begun')
      if (changes.length > 0) yield changes.map(format.change).join('')
      from = next
    }
  }

  /**
   * Sends the lines after a change to a stream, then every change and every head, until the stream is closed.
   * @throws CodedError UNAVAILABLE if there is no place for the stream
   */
  subscribe(stream: PassThrough, after: number, format: FeedFormat, client: Client): void {
    const subscriber = this.#streams.add(stream, client, this.#clocks.elapsed())
    this.#serve(subscriber, after, format).catch(() => subscriber.close())
  }

  async #serve(subscriber: Subscriber, start: number, format: FeedFormat): Promise<void> {
    let after = start
    let heads = -1
    while (!subscriber.isClosed) {
      const woken = subscriber.nextWake()
      const isHeadDue = heads !== subscriber.heads
      heads = subscriber.heads
      const position = this.#positionOrNull()
      if (position !== null) {
        for await (const text of this.#changes(after, position, format))
          await subscriber.write(text)
        after = position.n
      }
      if (isHeadDue) await subscriber.write(await this.#headOrHeartbeat(position, format))
      await woken
    }
  }

  #positionOrNull(): CurrentPosition | null {
    try {
      return this.#state.position
    } catch {
      return null
    }
  }

  async #headOrHeartbeat(position: CurrentPosition | null, format: FeedFormat): Promise<string> {
    if (position === null) return format.heartbeat
    return this.#heads.at(position).then(format.head, () => format.heartbeat)
  }

  /** Ends all streams. Clients connect again with their cursor. */
  endAll(): void {
    for (const each of this.#streams) each.end()
  }
}
