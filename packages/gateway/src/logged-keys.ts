import {
  type KeyProofFault,
  keyThumbprint,
  type LogPolicy,
  type Naming,
  parsePolicy,
  verifyKeyProof,
} from '@countersign/protocol'
import {
  type CountersignError,
  type CountersignErrorCode,
  isSignature,
  Registry,
} from '@countersign/sdk'
import { BoundedMap } from './bounded-map.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import { type Caller, decide, type LookupResult } from './decision/decide.ts'
import type { AgentData, LogFault, LogState } from './decision/decision.ts'
import type { TrustedIssuer } from './issuers/trusted-issuers.ts'
import type { LogClient, RegistryClient } from './options.ts'
import type { Rules } from './policy/policy.ts'

/** By the text of a tlog-policy. */
type LogStates = ReadonlyMap<string, LogState>

interface KnownKey {
  readonly states: LogStates
  /** Until then, states other than `logged` count too. */
  readonly freshUntil: number
}

interface LogSource {
  readonly client: LogClient
  readonly circuitBreaker: CircuitBreaker
}

/** What a decision about an agent depends on besides the agent. */
interface DecidedBy {
  readonly rules: readonly Rules[]
  readonly caller: Caller
  /** Of the agent: an origin. */
  readonly issuer: string
}

interface LoggedKeysOptions {
  /** The texts of the tlog-policies, which the policy's reader has validated. */
  readonly policies: readonly string[]
  /** The name of the identification header. */
  readonly header: string
  /** How long a request waits for a proof, in milliseconds. */
  readonly timeoutMs: number
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
}

const MAX_KEYS = 10_000
/** Kept apart from keys that are logged, so that a flood of new agents evicts none of them. */
const MAX_OTHER_KEYS = 1_000
/** How long a key that is not logged is left alone. The service publishes a checkpoint within a second of a change. */
const RETRY_MS = 2_000

/** Errors after which the log is not asked about other keys for a while. `UNAVAILABLE` can be about one key. */
const LOG_ERRORS: readonly CountersignErrorCode[] = ['NETWORK', 'TIMEOUT', 'RATE_LIMITED']

const FAULTS: Readonly<Record<KeyProofFault, LogFault>> = {
  invalid: 'log-proof-invalid',
  'other-key': 'key-not-logged',
  'other-log': 'log-not-accepted',
  'no-quorum': 'log-quorum-missing',
}

/**
 * Finds out whether the keys of agents are logged. A key that is logged stays so: its proof is fetched and verified once, and another
 * key of the agent needs one of its own.
 */
export class LoggedKeys {
  readonly #options: LoggedKeysOptions
  readonly #policies: ReadonlyMap<string, LogPolicy>
  readonly #sources: ReadonlyMap<string, LogSource>
  /** Logged by at least one of the policies. */
  readonly #logged = new BoundedMap<string, KnownKey>(MAX_KEYS)
  readonly #others = new BoundedMap<string, KnownKey>(MAX_OTHER_KEYS)
  readonly #pending = new Map<string, Promise<LogStates>>()

  /** @param clients where the proofs of an issuer's agents are, by its origin */
  constructor(clients: ReadonlyMap<string, LogClient>, options: LoggedKeysOptions) {
    this.#options = options
    this.#policies = new Map(options.policies.map((text) => [text, parsePolicy(text)]))
    this.#sources = new Map(
      [...clients].map(([issuer, client]) => [
        issuer,
        { client, circuitBreaker: new CircuitBreaker() },
      ]),
    )
  }

  /**
   * Adds to what is known of an agent whether its key is logged, from memory or by its proof. Never rejects.
   * @returns the lookup itself if the decision does not depend on it, or there is no agent
   */
  complete(lookup: LookupResult, decided: DecidedBy): LookupResult | Promise<LookupResult> {
    const agent = lookup.kind === 'answered' ? lookup.agent : (lookup.last?.agent ?? null)
    const policies = agent === null ? [] : this.#policiesThatDecide(lookup, decided)
    const key = agent && idOf(agent)
    if (agent === null || key === null || policies.length === 0) return lookup
    const known = this.#get(key)
    const isFresh = known !== undefined && this.#options.now() < known.freshUntil
    const isEnough = isFresh || policies.every((each) => known?.states.get(each) === 'logged')
    // While the service is unreachable, so is its log.
    if (isEnough || lookup.kind === 'unreachable') return withStates(lookup, known?.states)
    const pending = this.#pending.get(key) ?? this.#check(agent, key, decided.issuer)
    return pending.then((states) => withStates(lookup, states))
  }

  /** Takes over what another one has verified by the same tlog-policies. */
  copyFrom(other: LoggedKeys): void {
    for (const [key, { states }] of other.#logged) {
      const logged = [...states].filter(
        ([text, state]) => state === 'logged' && this.#policies.has(text),
      )
      if (logged.length > 0) {
        this.#logged.set(key, { states: new Map(logged), freshUntil: Number.NEGATIVE_INFINITY })
      }
    }
  }

  /** Those of rules that an earlier check does not refuse. */
  #policiesThatDecide(lookup: LookupResult, { rules, caller }: DecidedBy): string[] {
    return rules.flatMap((each) => {
      if (each.requireLogged === null) return []
      const { reasons } = decide(each, this.#options.header, caller, lookup)
      const isOpen = reasons.some(({ code }) => code === 'log-unavailable')
      return isOpen ? [each.requireLogged.policy] : []
    })
  }

  #check(agent: AgentData, key: string, issuer: string): Promise<LogStates> {
    const result = this.#fetch(agent, key, issuer).finally(() => this.#pending.delete(key))
    this.#pending.set(key, result)
    return result
  }

  async #fetch(agent: AgentData, key: string, issuer: string): Promise<LogStates> {
    const { now, timeoutMs } = this.#options
    const source = this.#sources.get(issuer)
    const before = this.#get(key)?.states
    if (source === undefined || !source.circuitBreaker.allowsRequest(now())) {
      return this.#all(before, 'log-unavailable')
    }
    let states: LogStates
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const proof = await source.client.logProof(agent.did, { signal })
      source.circuitBreaker.recordSuccess()
      states = await this.#verified(agent, proof, before)
    } catch (error) {
      const code = (error as Partial<CountersignError> | null)?.code
      if (code !== undefined && !LOG_ERRORS.includes(code)) source.circuitBreaker.recordSuccess()
      else source.circuitBreaker.recordFailure(error, now())
      states = this.#all(before, code === 'NOT_FOUND' ? 'key-not-logged' : 'log-unavailable')
    }
    this.#set(key, { states, freshUntil: now() + RETRY_MS })
    return states
  }

  #get(key: string): KnownKey | undefined {
    return this.#logged.get(key) ?? this.#others.get(key)
  }

  #set(key: string, known: KnownKey): void {
    const isLogged = [...known.states.values()].includes('logged')
    this.#others.delete(key)
    if (isLogged) this.#logged.set(key, known)
    else this.#others.set(key, known)
  }

  async #verified(
    { did, key, keySequence = 1 }: AgentData,
    proof: string,
    before: LogStates | undefined,
  ): Promise<LogStates> {
    const id = { did, keyThumbprint: thumbprintOf(key), keySequence }
    const states = new Map<string, LogState>()
    for (const [text, policy] of this.#policies) {
      const isKnown = before?.get(text) === 'logged'
      const result = isKnown ? null : await verifyKeyProof(proof, id, policy, isSignature)
      states.set(text, typeof result === 'string' ? FAULTS[result] : 'logged')
    }
    return states
  }

  /** The same for all policies, but for those by which the key is known to be logged. */
  #all(before: LogStates | undefined, state: LogState): LogStates {
    return new Map(
      [...this.#policies.keys()].map((text) => [
        text,
        before?.get(text) === 'logged' ? 'logged' : state,
      ]),
    )
  }
}

interface LogSources extends Pick<LoggedKeysOptions, 'timeoutMs' | 'now'> {
  readonly naming: Naming
  /** The service, by its public origin, and how it is asked. */
  readonly issuer: string
  readonly registry: RegistryClient
  readonly trusted: readonly TrustedIssuer[]
}

/** Null if no rules require that keys are logged. */
export function loggedKeysFor(
  rules: readonly Rules[],
  { issuer, registry, trusted, naming, timeoutMs, now }: LogSources,
): LoggedKeys | null {
  const policies = rules.flatMap(({ requireLogged }) => requireLogged?.policy ?? [])
  if (policies.length === 0) return null
  const clients = new Map<string, LogClient>(
    trusted.map((each) => [each.issuer, new Registry(each.issuer, { naming: each.naming })]),
  )
  if (registry.logProof !== undefined) clients.set(issuer, registry as LogClient)
  const unique = [...new Set(policies)]
  return new LoggedKeys(clients, { policies: unique, header: naming.idHeader, timeoutMs, now })
}

/** Null if its key is not known. */
function idOf({ did, key, keySequence = 1 }: AgentData): string | null {
  return key === undefined ? null : `${did} ${keySequence} ${thumbprintOf(key)}`
}

/** Computed, because the service could name the thumbprint of a logged key beside another public key. */
function thumbprintOf(key: AgentData['key']): string {
  return key === undefined ? '' : keyThumbprint(key.publicKey)
}

function withStates(lookup: LookupResult, logged: LogStates | undefined): LookupResult {
  if (logged === undefined) return lookup
  if (lookup.kind === 'answered') {
    return lookup.agent === null ? lookup : { ...lookup, agent: { ...lookup.agent, logged } }
  }
  const { last } = lookup
  if (last === null || last.agent === null) return lookup
  return { ...lookup, last: { ...last, agent: { ...last.agent, logged } } }
}
