import type { FeedChange, IssuerJwk } from '@countersign/protocol'
import {
  CountersignError,
  type FeedHead,
  readFeedHead,
  readFeedLine,
  readSnapshot,
  readStatusList,
  type TokenStatus,
} from '@countersign/sdk'
import { BoundedMap } from '../bounded-map.ts'
import { IssuerKeyRing } from './issuer-key-ring.ts'
import { CursorExpired, IssuerRequests } from './issuer-requests.ts'
import { ListStore } from './list-store.ts'

/** Which issuer to follow, and by which clocks. */
export interface FollowedIssuer {
  readonly issuer: string
  /** Where it is reached, without a slash at the end. */
  readonly base: string
  /** Null: the keys that it publishes. */
  readonly jwks: readonly IssuerJwk[] | null
  /** A monotonic clock, in milliseconds. */
  readonly elapsed: () => number
  /** The clock of tokens, in milliseconds since 1970. */
  readonly now: () => number
}

/** Times in milliseconds. */
export interface FollowerTiming {
  /** Between two requests for the issuer's keys. */
  readonly keysMs: number
  /** A feed without a line for this long is opened again. Heads come every 5 seconds. */
  readonly idleMs: number
  /** The first wait before the feed is opened again, which doubles up to `maxRetryMs`. */
  readonly retryMs: number
  readonly maxRetryMs: number
  /** Between two readings of all lists, since the lines of the feed are not signed. */
  readonly auditMs: number
}

const TIMING: FollowerTiming = {
  keysMs: 60_000,
  idleMs: 15_000,
  retryMs: 250,
  maxRetryMs: 10_000,
  auditMs: 300_000,
}
/** Entries of certificates that were seen, to notice their restrictions. */
const MAX_ENTRIES = 10_000
/** How long a list that could not be read is left alone. */
const PAUSE_MS = 5_000

/** The feed shows what its issuer would not send. */
class FeedFault extends Error {
  override readonly name = 'FeedFault'
}

/** The newest head that counts. */
interface KnownHead extends Omit<FeedHead, 'token'> {
  /** When it was signed, by the monotonic clock. */
  readonly signedAt: number
}

/**
 * Follows the feed of one issuer and keeps its status lists in memory. It reconnects with its cursor; if that has expired, or the feed
 * shows what its issuer would not send, it reads all lists again.
 */
export class IssuerFollower {
  /** Resolves once the lists were read, or could not be. */
  readonly ready: Promise<void>
  readonly #followed: FollowedIssuer
  readonly #timing: FollowerTiming
  readonly #requests: IssuerRequests
  readonly #keyRing: IssuerKeyRing
  readonly #lists = new ListStore()
  readonly #entries = new BoundedMap<string, string>(MAX_ENTRIES)
  readonly #listeners = new Set<(did: string) => void>()
  readonly #loading = new Map<number, Promise<void>>()
  readonly #loadedAt = new Map<number, number>()
  readonly #stopping = new AbortController()
  readonly #timers: ReturnType<typeof setInterval>[]
  readonly #stopped: Promise<void>
  #settleReady: () => void = () => undefined
  #connection: AbortController | null = null
  #head: KnownHead | null = null
  /** Null: the lists have to be read first. */
  #cursor: string | null = null
  #epoch: string | null = null
  #seq = 0

  constructor(followed: FollowedIssuer, timing: Partial<FollowerTiming> = {}) {
    this.#followed = followed
    this.#timing = { ...TIMING, ...timing }
    this.#requests = new IssuerRequests(followed.base)
    this.#keyRing = new IssuerKeyRing(this.#requests, followed.jwks, followed.elapsed, () =>
      this.#distrust(),
    )
    this.ready = new Promise((resolve) => {
      this.#settleReady = resolve
    })
    const { signal } = this.#stopping
    this.#timers = [
      every(this.#timing.keysMs, () => this.#keyRing.refresh(signal)),
      every(this.#timing.auditMs, () => this.#loadSnapshot().catch(() => undefined)),
    ]
    this.#stopped = this.#run().finally(this.#settleReady)
  }

  get issuer(): string {
    return this.#followed.issuer
  }

  get keys(): readonly IssuerJwk[] {
    return this.#keyRing.keys
  }

  hasKey(kid: string): boolean {
    return this.#keyRing.has(kid)
  }

  /** As `keys`, read again if none of them is this one. */
  keysIncluding(kid: string): Promise<readonly IssuerJwk[]> {
    return this.#keyRing.including(kid, this.#stopping.signal)
  }

  /**
   * The age of the newest signed head in milliseconds, by the monotonic clock; infinite without one. Keys that were not confirmed for
   * long count against it, because an attacker who has stolen one can sign heads.
   */
  get statusAgeMs(): number {
    if (this.#head === null) return Number.POSITIVE_INFINITY
    const age = this.#followed.elapsed() - this.#head.signedAt
    return Math.max(0, age, this.#keyRing.overdueMs)
  }

  /** Milliseconds since 1970, at least the time of the newest head: setting the clock back revives no token. */
  now(): number {
    const now = this.#followed.now()
    if (this.#head === null) return now
    return Math.max(now, this.#head.asOf + this.#followed.elapsed() - this.#head.signedAt)
  }

  /** @returns null if the list is not known */
  status(list: number, idx: number): TokenStatus | null {
    return this.#lists.status(list, idx)
  }

  /** Notices when an entry is restricted, on behalf of an agent. */
  remember(list: number, idx: number, did: string): void {
    const key = `${list}:${idx}`
    if (this.#entries.get(key) !== did) this.#entries.set(key, did)
  }

  /** @param listener called with the DID of an agent whose entry was restricted. @returns a function that removes it */
  onRestricted(listener: (did: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Reads a list that is not known, as new ones are not. Never rejects. */
  loadList(list: number): Promise<void> {
    const loading = this.#loading.get(list)
    if (loading !== undefined) return loading
    const last = this.#loadedAt.get(list) ?? Number.NEGATIVE_INFINITY
    if (this.#followed.elapsed() - last < PAUSE_MS) return Promise.resolve()
    return this.#readList(list)
  }

  /** Ends the connection and all timers. */
  async stop(): Promise<void> {
    for (const each of this.#timers) clearInterval(each)
    this.#stopping.abort()
    await this.#stopped
  }

  async #run(): Promise<void> {
    const { retryMs, maxRetryMs } = this.#timing
    const { signal } = this.#stopping
    let wait = retryMs
    while (!signal.aborted) {
      const before = this.#head
      try {
        if (this.#keyRing.keys.length === 0) await this.#keyRing.refresh(signal)
        if (this.#cursor === null) await this.#loadSnapshot()
        this.#settleReady()
        await this.#follow()
      } catch (error) {
        const isFault = error instanceof FeedFault || isInvalidToken(error)
        if (isFault || error instanceof CursorExpired) this.#cursor = null
      }
      this.#settleReady()
      wait = this.#head === before ? Math.min(2 * wait, maxRetryMs) : retryMs
      // Drawn at random, so that not all gateways return at the same moment.
      await pause(wait * (0.5 + Math.random() / 2), signal)
    }
  }

  /** Follows one connection until it ends. */
  async #follow(): Promise<void> {
    const connection = new AbortController()
    this.#connection = connection
    const signal = AbortSignal.any([connection.signal, this.#stopping.signal])
    const watch = new Watchdog(this.#timing.idleMs, () => connection.abort())
    try {
      for await (const value of await this.#requests.feed(this.#cursor ?? '', signal)) {
        const before = this.#head
        const { head, change } = await readFeedLine(value)
        if (change !== undefined) this.#applyChange(change)
        else await this.#acceptHead(head)
        // A replayed head does not count: the connection may be alive and its content frozen.
        if (change !== undefined || this.#head !== before) watch.reset()
      }
    } finally {
      watch.stop()
      connection.abort()
      this.#connection = null
    }
  }

  /** Changes come in order: an earlier one is replayed or reordered. */
  #applyChange(change: FeedChange): void {
    if (change.seq <= this.#seq) throw new FeedFault('a change is out of order')
    this.#seq = change.seq
    this.#lists.apply(change)
    this.#tell(`${change.list}:${change.idx}`)
  }

  async #acceptHead(token: string): Promise<void> {
    const head = await readFeedHead(token, this.#context())
    if (head.epoch !== this.#epoch) throw new FeedFault('another epoch has begun')
    this.#refreshBy(head)
    for (const list of this.#lists.unconfirmed) void this.#readList(list)
  }

  /** Only a newer head counts: replayed ones do not make the lists look current. */
  #refreshBy(head: FeedHead): void {
    const { token, ...rest } = head
    if (head.seq < this.#seq || head.asOf <= (this.#head?.asOf ?? Number.NEGATIVE_INFINITY)) return
    const age = Math.max(0, this.now() - head.asOf)
    this.#head = { ...rest, signedAt: this.#followed.elapsed() - age }
    this.#seq = head.seq
    this.#cursor = token
  }

  async #loadSnapshot(): Promise<void> {
    const { signal } = this.#stopping
    const { head, lists } = await readSnapshot(
      await this.#requests.snapshot(signal),
      this.#context(),
    )
    const isSameEpoch = head.epoch === this.#epoch
    if ((isSameEpoch && head.seq < this.#seq) || head.asOf < (this.#head?.asOf ?? 0)) {
      // A node that is behind, or a replay.
      throw new FeedFault('the snapshot is older than what is known')
    }
    this.#lists.replaceAll(lists, { seq: isSameEpoch ? head.seq : null, issuedAt: head.asOf })
    this.#epoch = head.epoch
    if (!isSameEpoch) this.#seq = head.seq
    this.#cursor ??= head.token
    this.#refreshBy(head)
    if (!isSameEpoch) this.#cursor = head.token
    for (const [key] of this.#entries) this.#tell(key)
  }

  #readList(list: number): Promise<void> {
    const { issuer, elapsed } = this.#followed
    const pending = this.#loading.get(list)
    if (pending !== undefined) return pending
    this.#loadedAt.set(list, elapsed())
    const reading = (async () => {
      const token = await this.#requests.statusList(list, this.#stopping.signal)
      const uri = `${issuer}/status/${list}`
      this.#lists.replace(list, await readStatusList(token, { ...this.#context(), uri }))
      for (const [key] of this.#entries) this.#tell(key)
    })()
      .catch(() => undefined)
      .finally(() => this.#loading.delete(list))
    this.#loading.set(list, reading)
    return reading
  }

  /** A key was removed: what it has signed no longer counts. */
  #distrust(): void {
    if (this.#head !== null && !this.hasKey(this.#head.kid)) this.#head = null
    this.#cursor = null
    this.#connection?.abort()
  }

  #tell(key: string): void {
    const did = this.#entries.get(key)
    const [list = -1, idx = -1] = key.split(':').map(Number)
    if (did === undefined || this.status(list, idx) === 'valid') return
    for (const listener of this.#listeners) listener(did)
  }

  #context() {
    const keysFor = (kid: string) => this.keysIncluding(kid)
    return { issuer: this.issuer, keysFor, now: this.now() }
  }
}

/** Calls a function unless it is reset in time. */
class Watchdog {
  readonly #ms: number
  readonly #onIdle: () => void
  #timer: ReturnType<typeof setTimeout>

  constructor(ms: number, onIdle: () => void) {
    this.#ms = ms
    this.#onIdle = onIdle
    this.#timer = setTimeout(onIdle, ms)
  }

  reset(): void {
    this.stop()
    this.#timer = setTimeout(this.#onIdle, this.#ms)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}

function isInvalidToken(error: unknown): boolean {
  return error instanceof CountersignError && error.code === 'INVALID_TOKEN'
}

/** Does not keep the process alive. */
function every(ms: number, work: () => unknown) {
  const timer = setInterval(work, ms)
  unref(timer)
  return timer
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    unref(timer)
    signal.addEventListener('abort', end, { once: true })
  })
}

function unref(timer: unknown): void {
  ;(timer as { unref?: () => void }).unref?.()
}
