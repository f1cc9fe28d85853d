import type { PassThrough } from 'node:stream'
import { CodedError, type FeedChange } from '@countersign/protocol'
import type { FeedHeads } from './feed-heads.ts'
import type { CurrentPosition, StatusState } from './status-state.ts'

/** How often heads are signed, in milliseconds. */
export const HEAD_INTERVAL_MS = 5000
/** A subscriber that has not read what was sent to it for so many heads is disconnected: 30 seconds. */
const MAX_UNREAD_HEADS = 6
/** Streams of one address. */
const MAX_STREAMS_PER_ADDRESS = 200

/** How lines are written: as NDJSON, or as server-sent events. */
export interface FeedFormat {
  change(change: FeedChange): string
  head(token: string): string
  /** Keeps the connection open while there is no head. */
  readonly heartbeat: string
}

/** Sends the feed to those who follow it. */
export class StatusFeed {
  readonly #state: StatusState
  readonly #heads: FeedHeads
  readonly #now: () => number
  readonly #subscribers = new Set<Subscriber>()
  readonly #perAddress = new Map<string, number>()
  /** When this node last knew the database and could sign, in milliseconds since 1970. */
  #signedAsOf: number

  constructor(state: StatusState, heads: FeedHeads, now: () => number) {
    this.#state = state
    this.#heads = heads
    this.#now = now
    this.#signedAsOf = now()
    state.addListener({
      onChange: () => this.#wake(),
      onEpochEnd: () => this.endAll(),
    })
  }

  /** Open streams. */
  get subscribers(): number {
    return this.#subscribers.size
  }

  /** Seconds since the state of the newest signed head. */
  get ageSeconds(): number {
    return (this.#now() - this.#signedAsOf) / 1000
  }

  /** Signs a head and sends it to all subscribers. Call it every `HEAD_INTERVAL_MS`. */
  async tick(): Promise<void> {
    try {
      const { position } = this.#state
      await this.#heads.at(position)
      this.#signedAsOf = position.asOf
    } catch {
      // The age of the newest head shows it, here and to those who follow the feed.
    }
    for (const each of this.#subscribers) each.tick()
  }

  /**
   * The lines after a sequence number up to the newest event, and a head.
   * @param format how to write them
   */
  async *lines(after: number, format: FeedFormat): AsyncGenerator<string> {
    const { position } = this.#state
    yield* this.#changes(after, position, format)
    yield format.head(await this.#heads.at(position))
  }

  async *#changes(
    after: number,
    { seq: upTo, epoch }: CurrentPosition,
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
   * Sends the lines after a sequence number to a stream, then every change and every head, until the stream is closed.
   * @param address whose streams are counted together
   * @throws CodedError UNAVAILABLE if the address has too many streams
   */
  subscribe(stream: PassThrough, after: number, format: FeedFormat, address: string): void {
    const count = this.#perAddress.get(address) ?? 0
    if (count >= MAX_STREAMS_PER_ADDRESS) {
      throw new CodedError(
        'UNAVAILABLE',
        'Too many open streams of the status feed from your address. Close some, and try again.',
        { retryAfterSeconds: 5 },
      )
    }
    this.#perAddress.set(address, count + 1)
    const subscriber = new Subscriber(stream)
    this.#subscribers.add(subscriber)
    stream.once('close', () => {
      this.#subscribers.delete(subscriber)
      subscriber.wake()
      const left = (this.#perAddress.get(address) ?? 1) - 1
      if (left === 0) this.#perAddress.delete(address)
      else this.#perAddress.set(address, left)
    })
    this.#serve(subscriber, after, format).catch(() => stream.destroy())
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
        after = position.seq
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

  #wake(): void {
    for (const each of this.#subscribers) each.wake()
  }

  /** Ends all streams. Clients connect again with their cursor. */
  endAll(): void {
    for (const each of this.#subscribers) each.end()
  }
}

/** An open stream. */
class Subscriber {
  readonly #stream: PassThrough
  #wake: () => void = () => undefined
  /** Heads that were due since the stream last took everything that was written to it. */
  #unread = 0
  /** How many heads were due so far. */
  heads = 0

  constructor(stream: PassThrough) {
    this.#stream = stream
  }

  get isClosed(): boolean {
    return this.#stream.destroyed || this.#stream.writableEnded
  }

  /** Resolves at the next call of `wake`. Call it before reading what there is, so that no change is missed. */
  nextWake(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  wake(): void {
    this.#wake()
  }

  tick(): void {
    this.heads += 1
    if (this.#stream.writableNeedDrain) this.#unread += 1
    else this.#unread = 0
    if (this.#unread > MAX_UNREAD_HEADS) this.#stream.destroy()
    this.wake()
  }

  /** Writes a text, and waits while the client does not read. */
  async write(text: string): Promise<void> {
    if (this.isClosed || this.#stream.write(text)) return
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#stream.off('drain', done).off('close', done)
        resolve()
      }
      this.#stream.once('drain', done).once('close', done)
    })
  }

  end(): void {
    if (!this.isClosed) this.#stream.end()
    this.wake()
  }
}
