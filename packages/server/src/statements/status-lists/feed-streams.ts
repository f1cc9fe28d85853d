import type { PassThrough } from 'node:stream'
import { CodedError } from '@countersign/protocol'

/** Streams of one address. */
const MAX_PER_ADDRESS = 20
/** Streams of one network: a /24 of IPv4, a /48 of IPv6. */
const MAX_PER_NETWORK = 40
/** Streams of a process. */
const MAX_STREAMS = 1000
/** A subscriber that has not read what was sent to it for so many heads is disconnected: 30 seconds. */
const MAX_UNREAD_HEADS = 6
/**
 * A stream ends after 10 to 15 minutes: small heads fit into the kernel's buffers for hours, so that nothing else shows that nobody
 * reads. Random, so that not all clients return at once.
 */
const MIN_LIFETIME_MS = 10 * 60_000
const EXTRA_LIFETIME_MS = 5 * 60_000

/** Whose stream it is. */
export interface Client {
  readonly address: string
  readonly network: string
}

/**
 * The open streams of the feed. Nobody can take all places: if none is left, a newcomer takes that of the network that has most. Who
 * gets none follows the feed by polling.
 */
export class FeedStreams {
  /** By network, the oldest first. */
  readonly #networks = new Map<string, Subscriber[]>()
  readonly #addresses = new Map<string, number>()
  #count = 0
  /** Streams that were ended for a newcomer. */
  evicted = 0

  get count(): number {
    return this.#count
  }

  [Symbol.iterator](): Iterator<Subscriber> {
    return [...this.#networks.values()].flat()[Symbol.iterator]()
  }

  /**
   * Admits a stream.
   * @param now a monotonic clock, in milliseconds
   * @throws CodedError UNAVAILABLE if there is no place for it
   */
  add(stream: PassThrough, { address, network }: Client, now: number): Subscriber {
    const streams = this.#networks.get(network) ?? []
    const ofAddress = this.#addresses.get(address) ?? 0
    if (ofAddress >= MAX_PER_ADDRESS || streams.length >= MAX_PER_NETWORK) {
      throw noPlace('Too many open streams of the status feed from your network.')
    }
    if (this.#count >= MAX_STREAMS) this.#evictFor(streams.length)
    const subscriber = new Subscriber(
      stream,
      now + MIN_LIFETIME_MS + Math.random() * EXTRA_LIFETIME_MS,
      () => this.#remove(subscriber, { address, network }),
    )
    streams.push(subscriber)
    this.#networks.set(network, streams)
    this.#addresses.set(address, ofAddress + 1)
    this.#count += 1
    return subscriber
  }

  /** @param own how many streams the network of the newcomer has */
  #evictFor(own: number): void {
    let most: Subscriber[] = []
    for (const each of this.#networks.values()) if (each.length > most.length) most = each
    const newest = most.at(-1)
    // With one less, the streams of the two networks would only replace each other.
    if (newest === undefined || most.length < own + 2) {
      throw noPlace('Too many open streams of the status feed.')
    }
    this.evicted += 1
    newest.close()
  }

  #remove(subscriber: Subscriber, { address, network }: Client): void {
    const left = (this.#networks.get(network) ?? []).filter((each) => each !== subscriber)
    if (left.length === 0) this.#networks.delete(network)
    else this.#networks.set(network, left)
    const ofAddress = (this.#addresses.get(address) ?? 1) - 1
    if (ofAddress === 0) this.#addresses.delete(address)
    else this.#addresses.set(address, ofAddress)
    this.#count -= 1
  }
}

function noPlace(problem: string): CodedError {
  return new CodedError(
    'UNAVAILABLE',
    `${problem} Read /api/v1/feed/latest every 5 seconds, and try again later.`,
    { retryAfterSeconds: 5 },
  )
}

/** An open stream. */
export class Subscriber {
  readonly #stream: PassThrough
  readonly #endsAt: number
  #wake: () => void = () => undefined
  #onClosed: (() => void) | null
  /** Heads that were due since the stream last took everything that was written to it. */
  #unread = 0
  /** How many heads were due so far. */
  heads = 0

  /** @param onClosed called once */
  constructor(stream: PassThrough, endsAt: number, onClosed: () => void) {
    this.#stream = stream
    this.#endsAt = endsAt
    this.#onClosed = onClosed
    stream.once('close', () => this.#release())
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

  headDue(): void {
    this.heads += 1
    if (this.#stream.writableNeedDrain) this.#unread += 1
    else this.#unread = 0
    if (this.#unread > MAX_UNREAD_HEADS) this.close()
    this.wake()
  }

  /** Ends the stream once it is too old. Its client connects again with its cursor. @param now as for `FeedStreams.add` */
  endIfOld(now: number): void {
    if (now >= this.#endsAt) this.end()
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

  /** Ends the stream after what was written. */
  end(): void {
    if (!this.isClosed) this.#stream.end()
    this.wake()
  }

  /** Ends the stream at once, and frees its place. */
  close(): void {
    this.#stream.destroy()
    this.#release()
  }

  #release(): void {
    this.#onClosed?.()
    this.#onClosed = null
    this.wake()
  }
}
