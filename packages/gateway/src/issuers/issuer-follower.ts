import { FeedChainError, type IssuerJwk } from '@countersign/protocol'
import {
  CountersignError,
  type FeedHead,
  type FeedLineRead,
  readFeedHead,
  readFeedLine,
  readSnapshot,
  readStatusList,
} from '@countersign/sdk'
import { BoundedMap } from '../bounded-map.ts'
import type { FeedFault } from '../options.ts'
import { every, pause, Watchdog } from './follower-timers.ts'
import { IssuerKeyRing } from './issuer-key-ring.ts'
import { CursorExpired, IssuerRequests } from './issuer-requests.ts'
import { type ListedStatus, ListStore, RefusedList } from './list-store.ts'

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
  /** A stream that shows no newer head for this long is opened again. Heads come every 5 seconds. */
  readonly idleMs: number
  /** The first wait before a stream is opened again, which doubles up to `maxRetryMs`. */
  readonly retryMs: number
  readonly maxRetryMs: number
  /** Between two polls while no stream shows newer heads: 4.5 to 5.5 seconds. */
  readonly pollMs: number
}

const TIMING: FollowerTiming = {
  keysMs: 60_000,
  idleMs: 15_000,
  retryMs: 250,
  maxRetryMs: 10_000,
  pollMs: 5_000,
}
/** Entries of certificates that were seen, to notice their restrictions. */
const MAX_ENTRIES = 10_000
/** How long a list that could not be read is left alone. */
const PAUSE_MS = 5_000
/** The first snapshot is loaded at once; then this is between two. */
const SNAPSHOT_PAUSE_MS = 10_000

/** The newest head that counts. */
interface KnownHead extends Pick<FeedHead, 'asOf' | 'kid'> {
  /** When it was signed, by the monotonic clock. */
  readonly signedAt: number
}

/**
 * Follows the feed of one issuer and keeps its status lists in memory. It reconnects with its cursor. While no stream shows newer
 * heads, it polls. If the cursor has expired, or the feed shows what its issuer would not send, it reads all lists again.
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
  readonly #faultListeners = new Set<(fault: FeedFault) => void>()
  readonly #loading = new Map<number, Promise<void>>()
  readonly #loadedAt = new Map<number, number>()
  readonly #stopping = new AbortController()
  readonly #timer: ReturnType<typeof setInterval>
  readonly #stopped: Promise<unknown>
  #settleReady: () => void = () => undefined
  #connection: AbortController | null = null
  /** Whether the stream that is open has shown a newer head lately. */
  #isStreaming = false
  #head: KnownHead | null = null
  /** The newest verified head, from which the feed continues. */
  #cursor: string | null = null
  #needsSnapshot = true
  #snapshotAt = Number.NEGATIVE_INFINITY

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
    this.#timer = every(this.#timing.keysMs, () => this.#keyRing.refresh(signal))
    this.#stopped = Promise.all([this.#run().finally(this.#settleReady), this.#runPolls()])
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

  /** The time of the newest verified head, in milliseconds since 1970. */
  get asOf(): number {
    return this.#head?.asOf ?? Number.NEGATIVE_INFINITY
  }

  /** @returns null if nothing is known of the entry */
  status(list: number, idx: number): ListedStatus | null {
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

  /** @param listener called when the feed shows what its issuer would not send. @returns a function that removes it */
  onFault(listener: (fault: FeedFault) => void): () => void {
    this.#faultListeners.add(listener)
    return () => this.#faultListeners.delete(listener)
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
    clearInterval(this.#timer)
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
        await this.#loadSnapshotIfNeeded()
        this.#settleReady()
        if (this.#cursor !== null) await this.#follow(this.#cursor)
      } catch (error) {
        this.#notice(error)
      }
      this.#settleReady()
      wait = this.#head === before ? Math.min(2 * wait, maxRetryMs) : retryMs
      // Drawn at random, so that not all gateways return at the same moment.
      await pause(wait * (0.5 + Math.random() / 2), signal)
    }
  }

  /** Without a stream that shows newer heads: nobody can keep a follower from learning of changes by taking all places. */
  async #runPolls(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await pause(this.#timing.pollMs * (0.9 + Math.random() / 5), signal)
      if (signal.aborted || this.#isStreaming || this.#cursor === null) continue
      await this.#poll(this.#cursor).catch((error) => this.#notice(error))
    }
  }

  async #poll(cursor: string): Promise<void> {
    const { signal } = this.#stopping
    const latest = await this.#readLines(await this.#requests.latest(signal))
    const known = this.#lists.verified?.n ?? 0
    if (this.#isKnown(latest.head)) return
    const first = latest.changes.find(({ n }) => n > known)
    const isWhole = first === undefined ? latest.head.n <= known : first.n === known + 1
    const { changes, head } = isWhole
      ? latest
      : await this.#readLines(await this.#requests.changesAfter(cursor, signal))
    // The stream may show newer heads by now, or all lists may have been read again.
    if (this.#isStreaming || this.#cursor !== cursor || this.#isKnown(head)) return
    this.#connection?.abort()
    this.#lists.reconnect()
    for (const change of changes) if (change.n > known) this.#applyChange(change)
    this.#acceptHead(head)
  }

  /** Verifies the head of an answer, which is its last line. */
  async #readLines(values: readonly unknown[]) {
    const lines = await Promise.all(values.map(readFeedLine))
    const head = lines.pop()?.head
    if (head === undefined) throw new Error('the answer has no head at its end')
    const changes = lines.flatMap(({ change }) => (change === undefined ? [] : [change]))
    return { changes, head: await readFeedHead(head, this.#context()) }
  }

  #isKnown({ asOf }: FeedHead): boolean {
    return asOf <= this.asOf
  }

  /** After a fault, all lists are read again: at once, and then from time to time. Until then, the cursor still counts. */
  #notice(error: unknown): void {
    const fault = faultOf(error)
    if (fault === null) return
    this.#needsSnapshot = true
    this.#connection?.abort()
    for (const listener of this.#faultListeners) listener(fault)
  }

  /** Follows one stream until it ends. */
  async #follow(cursor: string): Promise<void> {
    const connection = new AbortController()
    this.#connection = connection
    const signal = AbortSignal.any([connection.signal, this.#stopping.signal])
    const watch = new Watchdog(this.#timing.idleMs, () => connection.abort())
    this.#lists.reconnect()
    try {
      for await (const value of await this.#requests.feed(cursor, signal)) {
        const line = await readFeedLine(value)
        const head = await this.#headOf(line)
        // A poll has taken over meanwhile.
        if (connection.signal.aborted) return
        if (line.change !== undefined) this.#applyChange(line.change)
        // Only a newer head counts: the connection may be alive, and its heads withheld or replayed.
        if (head === null || !this.#acceptHead(head)) continue
        this.#isStreaming = true
        watch.reset()
      }
    } finally {
      watch.stop()
      connection.abort()
      this.#connection = null
      this.#isStreaming = false
    }
  }

  async #headOf({ head }: FeedLineRead): Promise<FeedHead | null> {
    return head === undefined ? null : readFeedHead(head, this.#context())
  }

  #applyChange(change: Parameters<ListStore['applyLine']>[0]): void {
    this.#lists.applyLine(change, this.now())
    this.#tell(`${change.list}:${change.idx}`)
  }

  /** @returns whether it is newer than what is known */
  #acceptHead(head: FeedHead): boolean {
    if (!this.#lists.acceptHead(head)) return false
    this.#refreshBy(head)
    // The lines since the last verified position are all there.
    this.#needsSnapshot = false
    return true
  }

  #refreshBy({ token, asOf, kid }: FeedHead): void {
    const age = Math.max(0, this.now() - asOf)
    this.#head = { asOf, kid, signedAt: this.#followed.elapsed() - age }
    this.#cursor = token
  }

  async #loadSnapshotIfNeeded(): Promise<void> {
    const now = this.#followed.elapsed()
    if (!this.#needsSnapshot || now - this.#snapshotAt < SNAPSHOT_PAUSE_MS) return
    this.#snapshotAt = now
    try {
      await this.#loadSnapshot()
    } catch (error) {
      // One that is refused ends nothing: the cursor shows the service what was lost.
      this.#notice(isInvalidToken(error) ? new RefusedList('does not verify') : error)
    }
  }

  async #loadSnapshot(): Promise<void> {
    const { signal } = this.#stopping
    const body = await this.#requests.snapshot(signal)
    const { head, lists } = await readSnapshot(body, this.#context())
    this.#lists.takeSnapshot(head, lists)
    this.#needsSnapshot = false
    this.#refreshBy(head)
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
      const { bytes, feed } = await readStatusList(token, { ...this.#context(), uri })
      this.#lists.takeList(list, bytes, feed)
      for (const [key] of this.#entries) this.#tell(key)
    })()
      .catch(() => undefined)
      .finally(() => this.#loading.delete(list))
    this.#loading.set(list, reading)
    return reading
  }

  /** A key was removed: what it has signed no longer counts. */
  #distrust(): void {
    if (this.#head !== null && !this.hasKey(this.#head.kid)) {
      this.#head = null
      this.#lists.distrust()
    }
    // Heads do not commit to what is in the lists, only to changes.
    this.#cursor = null
    this.#needsSnapshot = true
    this.#connection?.abort()
  }

  #tell(key: string): void {
    const did = this.#entries.get(key)
    const [list = -1, idx = -1] = key.split(':').map(Number)
    if (did === undefined || this.status(list, idx)?.status === 'valid') return
    for (const listener of this.#listeners) listener(did)
  }

  #context() {
    const keysFor = (kid: string) => this.keysIncluding(kid)
    return { issuer: this.issuer, keysFor, now: this.now() }
  }
}

/** @returns null if the error is of the network, or the service is out of order */
function faultOf(error: unknown): FeedFault | null {
  if (error instanceof FeedChainError) return error.fault
  if (error instanceof CursorExpired) return 'expired'
  if (error instanceof RefusedList) return 'snapshot'
  return isInvalidToken(error) ? 'token' : null
}

function isInvalidToken(error: unknown): boolean {
  return error instanceof CountersignError && error.code === 'INVALID_TOKEN'
}
