import { didOf, type Naming, namingFor, parseDidOrTail } from '@countersign/protocol'
import { Registry } from '@countersign/sdk'
import { BoundedMap } from './bounded-map.ts'
import { type Answer, type Caller, decide, strictest, type Verdict } from './decision/decide.ts'
import { reason } from './decision/reasons.ts'
import { type Ruling, refusedByFailure, refusedByLimit, rulingOf } from './decision/ruling.ts'
import { KnownAgents } from './known-agents.ts'
import type { DecidedRequest, GatewayOptions } from './options.ts'
import type { Policy, Rules } from './policy/policy.ts'
import { PolicyError } from './policy/policy-error.ts'
import { readPolicyAt } from './policy/read-policy.ts'
import { pathOf, RulesOf } from './policy/rules-of.ts'
import { addressKey } from './request/address-key.ts'
import { identityHeaderTest } from './request/identity-headers.ts'
import { TokenBuckets } from './token-buckets.ts'

/** A request as far as it is decided by. */
export interface Asked {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** The identification header: null where there is none, joined where there are several. */
  readonly identification: string | null
  readonly authorization: string | null
  /** Of the client, null where it is not known. Asked for where somebody has to be counted or told. */
  readonly address: () => string | null
  /** OPTIONS with the two headers that make it a CORS preflight. */
  readonly preflight: boolean
}

/** What an adapter for a framework is built on: it decides, and knows nothing of frameworks. */
export class Gate {
  readonly naming: Naming
  readonly policy: Policy
  /** The identification header in lower case. */
  readonly idHeader: string
  /** Whether a header is one by which a gateway speaks, and so is never taken from a client. */
  readonly isIdentityHeader: (name: string) => boolean
  readonly #options: GatewayOptions
  readonly #registry: Registry
  readonly #rules: RulesOf
  readonly #agents: KnownAgents<Ruling>
  readonly #buckets: TokenBuckets
  readonly #now: () => number
  readonly #preflight: Ruling
  readonly #named = new BoundedMap<string, NamedCaller>(MOST_NAMES)
  /** By the place of the rules: made once, since nothing about them changes. */
  readonly #unnamed: Readonly<Record<Exclude<Caller['kind'], 'named'>, Ruling[]>> = {
    none: [],
    unreadable: [],
    conflict: [],
  }

  /**
   * @param before a gate that this one takes the place of: what it knows of the same service goes on counting
   * @throws PolicyError with every mistake in the options at once
   */
  constructor(options: GatewayOptions, before?: Gate) {
    const { registry, naming, policy } = read(options)
    const { now = () => performance.now(), timeoutMs = 2000 } = options
    this.naming = naming
    this.policy = policy
    this.idHeader = naming.idHeader.toLowerCase()
    this.isIdentityHeader = identityHeaderTest(naming.idHeader)
    this.#options = options
    this.#rules = new RulesOf(policy)
    this.#registry = registry
    this.#now = now
    const cacheMs = policy.cacheSeconds * 1000
    const withGrade = this.#rules.all.some(({ minimumGrade }) => minimumGrade !== null)
    this.#preflight = rulingOf(this, NOBODY, PREFLIGHT, null)
    this.#agents = new KnownAgents({ registry, cacheMs, timeoutMs, withGrade, now })
    this.#buckets = new TokenBuckets(policy.limit)
    if (before === undefined) return
    if (before.#registry === registry) this.#agents.adopt(before.#agents)
    const { requests, seconds } = before.policy.limit
    const sameLimit = requests === policy.limit.requests && seconds === policy.limit.seconds
    if (sameLimit) this.#buckets = before.#buckets
  }

  /**
   * Decides. At once where what is known is young enough; it never throws, and the promise is never rejected: what fails
   * in here becomes a decision by the rule for a service that is out of reach.
   */
  decide(asked: Asked): Ruling | Promise<Ruling> {
    try {
      const ruling = this.#decide(asked)
      if (!(ruling instanceof Promise)) return this.#tell(ruling, asked)
      return ruling.catch(() => this.#failed(asked)).then((each) => this.#tell(each, asked))
    } catch {
      return this.#tell(this.#failed(asked), asked)
    }
  }

  #decide(asked: Asked): Ruling | Promise<Ruling> {
    if (asked.preflight && this.policy.preflight === 'pass') return this.#preflight
    const rules = this.#rules.find(asked.method, asked.target)
    const { sessions } = this.#options
    const token = sessions === undefined ? null : bearerIn(asked.authorization)
    if (sessions === undefined || token === null) return this.#judge(asked, rules, null)
    return sessions
      .session(token)
      .then((session) => this.#judge(asked, rules, session?.did ?? null))
  }

  /** @param proven the DID of a session */
  #judge(asked: Asked, rules: number, proven: string | null): Ruling | Promise<Ruling> {
    const caller = this.#callerOf(asked.identification, proven)
    if (caller.kind !== 'named') {
      const memo = this.#unnamed[caller.kind]
      memo[rules + 1] ??= this.#rule(rules, caller, null, 'cache')
      return this.#within(asked, memo[rules + 1] as Ruling)
    }
    const known = this.#agents.fresh(caller.did)
    if (known === undefined) {
      return this.#agents.ask(caller.did).then((answer) => {
        return this.#within(asked, this.#rule(rules, caller, answer, 'service'))
      })
    }
    const place = 2 * (rules + 1) + (caller.proven ? 1 : 0)
    const answer = { kind: 'said', facts: known.facts } as const
    known.memo[place] ??= this.#rule(rules, caller, answer, 'cache')
    return this.#within(asked, known.memo[place])
  }

  #callerOf(identification: string | null, proven: string | null): Caller {
    if (identification === null) {
      return proven === null ? NOBODY : { kind: 'named', did: proven, proven: true }
    }
    const named = this.#named.get(identification) ?? this.#read(identification)
    if (named === null) return UNREADABLE
    if (proven === null) return named
    return proven === named.did ? { ...named, proven: true } : CONFLICT
  }

  /** Reads a header that was not read a moment ago. */
  #read(identification: string): NamedCaller | null {
    const tail = parseDidOrTail(this.naming, identification)
    if (tail === null) return null
    const named = { kind: 'named', did: didOf(this.naming, tail), proven: false } as const
    this.#named.set(identification, named)
    return named
  }

  #rule(rules: number, caller: Caller, answer: Answer | null, from: 'service' | 'cache'): Ruling {
    const source = answer?.kind === 'said' ? from : null
    return rulingOf(this, caller, this.#verdict(rules, caller, answer), source)
  }

  #verdict(rules: number, caller: Caller, answer: Answer | null): Verdict {
    const by = (each: Rules) => decide(each, this.naming.idHeader, caller, answer)
    const [first, ...others] = rules < 0 ? this.#rules.all : [this.#rules.all[rules] as Rules]
    return strictest([by(first as Rules), ...others.map(by)])
  }

  /** A ruling within its limit, or the refusal beyond it. */
  #within(asked: Asked, ruling: Ruling): Ruling {
    if (ruling.decision.action !== 'limit') return ruling
    const { did, status, proofOfPossession } = ruling.decision
    const key =
      did === null || status === null
        ? addressKey(addressIn(asked) ?? '')
        : // Whoever only names an agent does not use up what those have who have proved to be it.
          `${proofOfPossession ? 'proven' : 'named'} ${did}`
    const seconds = this.#buckets.take(key, this.#now())
    return seconds === 0 ? ruling : refusedByLimit(this, ruling, seconds)
  }

  #failed({ method, target }: Asked): Ruling {
    const rules = this.#rules.all[this.#rules.find(method, target)] ?? this.policy
    return refusedByFailure(this, rules.unreachable)
  }

  #tell(ruling: Ruling, asked: Asked): Ruling {
    const { onDecision } = this.#options
    if (onDecision === undefined) return ruling
    try {
      const { method, target } = asked
      const request: DecidedRequest = { method, path: pathOf(target), address: addressIn(asked) }
      const told = onDecision(ruling.decision, request)
      if (told instanceof Promise) told.catch(() => undefined)
    } catch {
      // A log that fails is no reason to refuse anybody.
    }
    return ruling
  }
}

type NamedCaller = Extract<Caller, { kind: 'named' }>

const MOST_NAMES = 1_000
const NOBODY: Caller = { kind: 'none' }
const UNREADABLE: Caller = { kind: 'unreadable' }
const CONFLICT: Caller = { kind: 'conflict' }
const PREFLIGHT: Verdict = {
  action: 'allow',
  level: null,
  reasons: [reason('preflight')],
  refusal: null,
  facts: null,
  stale: false,
}

function addressIn({ address }: Asked): string | null {
  try {
    return address()
  } catch {
    return null
  }
}

/** RFC 6750 section 2.1. */
function bearerIn(authorization: string | null): string | null {
  return (authorization && /^Bearer +(\S+)$/i.exec(authorization)?.[1]) || null
}

function read(options: GatewayOptions) {
  const { service, naming: names, policy: input, timeoutMs = 2000, sessions } = options
  const mistakes: string[] = []
  const attempt = <T>(make: () => T): T | null => {
    try {
      return make()
    } catch (error) {
      mistakes.push((error as Error).message)
      return null
    }
  }
  if (!(timeoutMs > 0 && timeoutMs <= 60_000)) {
    mistakes.push('timeoutMs takes a number from 1 to 60000')
  }
  const registry = attempt(() =>
    // Not by its class: a site may have another copy of the SDK.
    typeof service === 'object' && service !== null && 'lookup' in service
      ? service
      : new Registry(service, { naming: names }),
  )
  const spelt = registry?.naming ?? names ?? {}
  const naming = attempt(() => namingFor(spelt.shortName, spelt.idHeader)) ?? namingFor()
  const policy = readPolicyAt(input, 'policy', { naming, mistakes })
  if (sessions === undefined && [policy, ...policy.routes].some((each) => each.requireProof)) {
    mistakes.push('requireProof needs `sessions`: without them, nobody can prove anything')
  }
  if (registry === null || mistakes.length > 0) throw new PolicyError(mistakes)
  return { registry, naming, policy }
}
