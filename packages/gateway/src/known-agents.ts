import type { CountersignError, Registry } from '@countersign/sdk'
import { BoundedMap } from './bounded-map.ts'
import type { Answer } from './decision/decide.ts'
import type { Facts } from './decision/decision.ts'
import { Outage } from './outage.ts'

/** What the service said of an agent, null where it knows none of that name. */
export interface Known<Memo> {
  readonly facts: Facts | null
  /** When it was asked. An answer is as old as its question. */
  readonly askedAt: number
  /** What whoever decides by it has made of it. It goes with the answer. */
  readonly memo: Memo[]
}

export interface KnownAgentsOptions {
  readonly registry: Registry
  readonly cacheMs: number
  readonly timeoutMs: number
  /** Whether decisions go by the grade, which costs a second question. */
  readonly withGrade: boolean
  /** Milliseconds of a clock that only goes forward. */
  readonly now: () => number
}

const MOST_AGENTS = 10_000
/** Whoever invents DIDs displaces other inventions, and no agent. */
const MOST_STRANGERS = 1_000

/** What the service says of agents, kept for a moment, asked once for all who want to know at the same time. */
export class KnownAgents<Memo> {
  readonly #options: KnownAgentsOptions
  readonly #agents = new BoundedMap<string, Known<Memo>>(MOST_AGENTS)
  readonly #strangers = new BoundedMap<string, Known<Memo>>(MOST_STRANGERS)
  readonly #asking = new Map<string, Promise<Answer>>()
  readonly #outage = new Outage()

  constructor(options: KnownAgentsOptions) {
    this.#options = options
  }

  /** What the service has said so recently that it is not asked again. */
  fresh(did: string): Known<Memo> | undefined {
    const known = this.#last(did)
    if (known === undefined) return undefined
    return this.#options.now() - known.askedAt < this.#options.cacheMs ? known : undefined
  }

  /** Asks the service. @returns `unreachable` in the place of every error */
  ask(did: string): Promise<Answer> {
    const asking = this.#asking.get(did)
    if (asking !== undefined) return asking
    const answer = this.#ask(did).finally(() => this.#asking.delete(did))
    this.#asking.set(did, answer)
    return answer
  }

  /** Goes on from what another has learnt of the same service, unless it lacks what is needed here. */
  adopt(other: KnownAgents<Memo>): void {
    if (this.#options.withGrade && !other.#options.withGrade) return
    for (const kept of [other.#agents, other.#strangers]) {
      for (const [did, known] of kept) this.#keep(did, { ...known, memo: [] })
    }
  }

  async #ask(did: string): Promise<Answer> {
    const askedAt = this.#options.now()
    if (!this.#outage.mayAsk(askedAt)) return this.#unreachable(did)
    try {
      const facts = await this.#facts(did)
      this.#outage.ended()
      const known = { facts, askedAt, memo: [] }
      this.#keep(did, known)
      return { kind: 'said', facts }
    } catch (error) {
      this.#outage.failed(error, this.#options.now())
      return this.#unreachable(did)
    }
  }

  async #facts(did: string): Promise<Facts | null> {
    const { registry, timeoutMs, withGrade } = this.#options
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      // Always asked: a revocation has to show. The grade may be as old as the service lets it be.
      const [{ verified, owner, certificate }, report] = await Promise.all([
        registry.lookup(did, { fresh: true, signal, staleIfErrorMs: 0 }),
        withGrade ? registry.grade(did, { signal, staleIfErrorMs: 0 }) : null,
      ])
      const { identityMethod } = owner
      const grade = report?.grade ?? null
      return Object.freeze({ did, status: certificate.status, verified, identityMethod, grade })
    } catch (error) {
      if ((error as Partial<CountersignError> | null)?.code === 'NOT_FOUND') return null
      throw error
    }
  }

  #unreachable(did: string): Answer {
    const known = this.#last(did)
    if (known === undefined) return { kind: 'unreachable', last: null }
    const ageSeconds = (this.#options.now() - known.askedAt) / 1000
    return { kind: 'unreachable', last: { facts: known.facts, ageSeconds } }
  }

  #keep(did: string, known: Known<Memo>): void {
    const [keeps, forgets] =
      known.facts === null ? [this.#strangers, this.#agents] : [this.#agents, this.#strangers]
    keeps.set(did, known)
    forgets.delete(did)
  }

  #last(did: string): Known<Memo> | undefined {
    return this.#agents.get(did) ?? this.#strangers.get(did)
  }
}
