import { decodeKey } from '@countersign/protocol'
import { CountersignError } from '@countersign/sdk'
import { BoundedMap } from './bounded-map.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { LookupResult } from './decision/decide.ts'
import type { AgentData } from './decision/decision.ts'
import type { RegistryClient } from './options.ts'

/** What the service answered for one DID. */
export interface CacheEntry<Derived> {
  /** Null if the service does not know the agent. */
  readonly agent: AgentData | null
  /** When the request was sent, so that a slow answer does not count as fresher than it is. */
  readonly requestedAt: number
  /** When the answer came: a restriction counts from then. */
  readonly answeredAt: number
  /** Results that the caller computed from this answer. They are discarded together with it. */
  readonly derived: Derived[]
}

export interface AgentCacheOptions {
  readonly registry: RegistryClient
  readonly cacheMs: number
  readonly timeoutMs: number
  /** Whether decisions depend on the grade, which takes a second request. */
  readonly withGrade: boolean
  /** Whether signatures or sessions are accepted, or decisions depend on the key or the transfer, which takes a further request. */
  readonly withKey: boolean
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
}

const MAX_AGENTS = 10_000
/** Kept apart from existing agents, so that a flood of invented DIDs evicts none of them. */
const MAX_UNKNOWN_AGENTS = 1_000

/** Looks agents up at the service, caches the answers, and sends concurrent requests for the same agent only once. */
export class AgentCache<Derived> {
  readonly #options: AgentCacheOptions
  readonly #agents = new BoundedMap<string, CacheEntry<Derived>>(MAX_AGENTS)
  readonly #unknownAgents = new BoundedMap<string, CacheEntry<Derived>>(MAX_UNKNOWN_AGENTS)
  readonly #restrictedAt = new BoundedMap<string, number>(MAX_AGENTS)
  readonly #pending = new Map<string, Promise<LookupResult>>()
  readonly #circuitBreaker = new CircuitBreaker()

  constructor(options: AgentCacheOptions) {
    this.#options = options
  }

  /** @returns the cached answer if it is younger than `cacheMs` */
  getFresh(did: string): CacheEntry<Derived> | undefined {
    const entry = this.#get(did)
    if (entry === undefined) return undefined
    return this.#options.now() - entry.requestedAt < this.#options.cacheMs ? entry : undefined
  }

  /** Asks the service. Never rejects: every error becomes `unreachable`. */
  lookup(did: string): Promise<LookupResult> {
    const pending = this.#pending.get(did)
    if (pending !== undefined) return pending
    const result = this.#lookup(did).finally(() => this.#pending.delete(did))
    this.#pending.set(did, result)
    return result
  }

  /** What is cached, however old it is, and for how long in milliseconds; null if there is nothing. */
  known(did: string): { readonly agent: AgentData | null; readonly ageMs: number } | null {
    const entry = this.#get(did)
    if (entry === undefined) return null
    return { agent: entry.agent, ageMs: this.#options.now() - entry.answeredAt }
  }

  /** Forgets an agent that its issuer has restricted: answers to requests from before that do not count. */
  restrict(did: string): void {
    this.#agents.delete(did)
    this.#restrictedAt.set(did, this.#options.now())
  }

  /** Takes over the answers of a cache for the same service, unless they lack a grade or key that is needed here. */
  copyFrom(other: AgentCache<Derived>): void {
    if (this.#options.withGrade && !other.#options.withGrade) return
    if (this.#options.withKey && !other.#options.withKey) return
    for (const [did, at] of other.#restrictedAt) this.#restrictedAt.set(did, at)
    for (const entries of [other.#agents, other.#unknownAgents]) {
      for (const [did, entry] of entries) this.#set(did, { ...entry, derived: [] })
    }
  }

  async #lookup(did: string): Promise<LookupResult> {
    const requestedAt = this.#options.now()
    if (!this.#circuitBreaker.allowsRequest(requestedAt)) return this.#unreachable(did)
    try {
      const agent = await this.#fetch(did)
      this.#assertNotOlder(did, agent)
      this.#circuitBreaker.recordSuccess()
      if (requestedAt <= (this.#restrictedAt.get(did) ?? Number.NEGATIVE_INFINITY)) {
        return this.#unreachable(did)
      }
      this.#restrictedAt.delete(did)
      this.#set(did, { agent, requestedAt, answeredAt: this.#options.now(), derived: [] })
      return { kind: 'answered', agent }
    } catch (error) {
      this.#circuitBreaker.recordFailure(error, this.#options.now())
      return this.#unreachable(did)
    }
  }

  async #fetch(did: string): Promise<AgentData | null> {
    const { registry, timeoutMs, withGrade, withKey } = this.#options
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      // The lookup bypasses HTTP caches, so that a revocation takes effect. The grade may come from one.
      const [{ verified, owner, certificate }, report, object] = await Promise.all([
        registry.lookup(did, { fresh: true, signal, staleIfErrorMs: 0 }),
        withGrade ? registry.grade(did, { signal, staleIfErrorMs: 0 }) : null,
        withKey ? registry.agent(did, { fresh: true, signal, staleIfErrorMs: 0 }) : null,
      ])
      const { identityMethod } = owner
      const grade = report?.grade ?? null
      const { status } = certificate
      const publicKey = object === null ? null : decodeKey(object.publicKey)
      const key = object && publicKey && { publicKey, keyid: object.keyThumbprint }
      const keySequence = object?.keySequence
      const keyAgeSeconds = object === null ? undefined : secondsSince(object.keyChangedAt)
      const transferredAt = object?.ownerChangedAt
      const ownerAgeSeconds = transferredAt === undefined ? null : secondsSince(transferredAt)
      const current = { ...(key && { key, keyAgeSeconds, ownerAgeSeconds }), keySequence }
      return Object.freeze({ did, status, verified, identityMethod, grade, ...current })
    } catch (error) {
      if ((error as Partial<CountersignError> | null)?.code === 'NOT_FOUND') return null
      throw error
    }
  }

  /** An earlier key than before comes from a stale cache or replica: its holder may have lost it since. */
  #assertNotOlder(did: string, agent: AgentData | null): void {
    const known = this.#get(did)?.agent?.keySequence ?? 0
    if ((agent?.keySequence ?? known) >= known) return
    throw new CountersignError('PROTOCOL', 'The service shows an earlier key of an agent.')
  }

  #unreachable(did: string): LookupResult {
    const entry = this.#get(did)
    const restricted = this.#restrictedAt.get(did) !== undefined
    if (entry === undefined) return { kind: 'unreachable', last: null, restricted }
    const ageSeconds = (this.#options.now() - entry.requestedAt) / 1000
    return { kind: 'unreachable', last: { agent: entry.agent, ageSeconds } }
  }

  #set(did: string, entry: CacheEntry<Derived>): void {
    const [target, other] =
      entry.agent === null
        ? [this.#unknownAgents, this.#agents]
        : [this.#agents, this.#unknownAgents]
    target.set(did, entry)
    other.delete(did)
  }

  #get(did: string): CacheEntry<Derived> | undefined {
    return this.#agents.get(did) ?? this.#unknownAgents.get(did)
  }
}

function secondsSince(timestamp: string): number {
  return (Date.now() - Date.parse(timestamp)) / 1000
}
