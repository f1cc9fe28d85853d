import { didOf, type Naming, type NonceStore, parseDidOrTail } from '@countersign/protocol'
import { type KeyDirectories, keyDirectories, memoryNonceStore } from '@countersign/sdk'
import { AgentCache } from './agent-cache.ts'
import { BoundedMap } from './bounded-map.ts'
import {
  type AnonymousCaller,
  type AnonymousKind,
  addressOf,
  bearerToken,
  hasEnded,
  isAt,
  isBefore,
  limitKey,
  type NamedCaller,
  NO_AUDIENCE,
  type SessionCaller,
  signatureOf,
} from './callers.ts'
import {
  type Caller,
  decide,
  failureVerdict,
  type LookupResult,
  PREFLIGHT,
  strictest,
  type Verdict,
} from './decision/decide.ts'
import type { Basis } from './decision/decision.ts'
import {
  type Outcome,
  outcomeOf,
  rateLimitedOutcome,
  signedOutcome,
  unverifiedOutcome,
} from './decision/outcome.ts'
import { type AcceptedProofs, varyHeader } from './denial.ts'
import { TrustedIssuer } from './issuers/trusted-issuers.ts'
import { isLogFinal, type LoggedKeys, loggedKeysFor } from './logged-keys.ts'
import type { DecidedRequest, GatewayOptions, RegistryClient } from './options.ts'
import type { Policy } from './policy/policy.ts'
import { pathOf, RouteMatcher } from './policy/route-matcher.ts'
import { readOptions } from './read-options.ts'
import { addressKey } from './request/address-key.ts'
import type { GatewayRequest } from './request/gateway-request.ts'
import { identityHeaderMatcher } from './request/identity-headers.ts'
import { SignatureChecker, type Signer } from './signatures.ts'
import { TokenBuckets } from './token-buckets.ts'

/** What an adapter adds to the options of a gateway. */
export interface GateOptions extends GatewayOptions {
  /**
   * Whether to follow the issuers of the policy's `trust`. Default: false, so that a policy that is only examined opens no connection;
   * certificates in requests then do not count.
   */
  readonly followsIssuers?: boolean
}

/** Makes the decisions. The framework adapters and the forward-auth server are built on it. */
export class Gate {
  readonly naming: Naming
  readonly policy: Policy
  /** The identification header in lower case. */
  readonly idHeader: string
  /** Whether a header is one of those that only a gateway may set, and that must be removed from client requests. */
  readonly isIdentityHeader: (name: string) => boolean
  /** Whether sessions and signatures count as proof. */
  readonly accepts: AcceptedProofs
  /** The sign-in endpoint that a 401 names: a path or an absolute URL. */
  readonly signInUrl: string | null
  /** The `Vary` value for every response behind the gateway. */
  readonly vary: string
  readonly #options: GatewayOptions
  readonly #registry: RegistryClient
  readonly #routes: RouteMatcher
  readonly #agents: AgentCache<Outcome>
  readonly #buckets: TokenBuckets
  readonly #nonces: NonceStore
  readonly #directories: KeyDirectories
  readonly #severalAudiences: boolean
  /** Null without audiences. */
  readonly #signatures: SignatureChecker | null
  readonly #trusted: readonly TrustedIssuer[]
  /** Null if the policy has no `requireLogged`. */
  readonly #logged: LoggedKeys | null
  readonly #bases: Readonly<Record<'service' | 'cache', Basis>>
  readonly #unsubscribe: (() => void) | undefined
  readonly #now: () => number
  readonly #preflightOutcome: Outcome
  /** Parsed identification headers, by their text. */
  readonly #callers = new BoundedMap<string, NamedCaller>(MAX_CALLERS)
  /** Outcomes for callers without an agent, by the index of the rules. They never change. */
  readonly #anonymousOutcomes: Readonly<Record<AnonymousKind, Outcome[]>> = {
    none: [],
    unreadable: [],
    conflict: [],
  }

  /**
   * @param previous the gate that this one replaces. Its cache and rate limits are kept where they still apply.
   * @throws PolicyError listing every mistake in the options
   */
  constructor(options: GateOptions, previous?: Gate) {
    const { registry, naming, policy, audiences, issuer, signInUrl } = readOptions(options)
    const { now = monotonic, clock = Date.now, timeoutMs = 2000 } = options
    this.naming = naming
    this.policy = policy
    this.signInUrl = signInUrl
    this.#severalAudiences = audiences.length > 1
    this.idHeader = naming.idHeader.toLowerCase()
    this.isIdentityHeader = identityHeaderMatcher(naming.idHeader)
    this.accepts = {
      sessions: options.sessions !== undefined,
      signatures: audiences.length > 0,
    }
    this.vary = varyHeader(naming, this.accepts)
    this.#options = options
    this.#routes = new RouteMatcher(policy)
    this.#registry = registry
    this.#now = now
    const cacheMs = policy.cacheSeconds * 1000
    const withGrade = this.#routes.all.some(({ minimumGrade }) => minimumGrade !== null)
    this.#preflightOutcome = outcomeOf(this, ANONYMOUS, PREFLIGHT, null)
    const withKey =
      this.accepts.signatures ||
      this.accepts.sessions ||
      this.#routes.all.some((each) => each.minimumKeyAgeSeconds > 0 || each.requireLogged !== null)
    this.#agents = new AgentCache({ registry, cacheMs, timeoutMs, withGrade, withKey, now })
    // A new store would not know which nonces were used.
    this.#nonces = options.nonces ?? (previous ? previous.#nonces : memoryNonceStore())
    const sameDirectories =
      JSON.stringify(previous?.policy.directories) === JSON.stringify(policy.directories)
    this.#directories =
      sameDirectories && previous
        ? previous.#directories
        : keyDirectories(policy.directories, { fetch: options.fetchDirectory, now })
    const { maxStaleSeconds } = policy.offline
    const trust = { maxStaleSeconds, service: { issuer, base: registry.service }, timeoutMs }
    const followed = options.followsIssuers ? policy.trust : []
    this.#trusted = followed.map(
      (each) => new TrustedIssuer(each, { ...trust, elapsed: now, now: clock }),
    )
    this.#logged = loggedKeysFor(this.#routes.all, {
      ...{ issuer, registry, trusted: this.#trusted, header: naming.idHeader, timeoutMs, now },
    })
    this.#bases = {
      service: { issuer, source: 'service', statusAgeSeconds: 0 },
      cache: { issuer, source: 'cache', statusAgeSeconds: policy.cacheSeconds },
    }
    this.#signatures = this.accepts.signatures
      ? new SignatureChecker({
          ...{ audiences, issuer, naming, now, clock, agents: this.#agents, bases: this.#bases },
          ...{ nonces: this.#nonces, directories: this.#directories, trusted: this.#trusted },
        })
      : null
    const own = this.#trusted.find((each) => each.issuer === issuer)
    this.#unsubscribe = own?.follower.onRestricted((did) => this.#agents.restrict(did))
    this.#buckets = new TokenBuckets(policy.limit)
    if (previous === undefined) return
    if (previous.#registry === registry) this.#agents.copyFrom(previous.#agents)
    if (previous.#logged) this.#logged?.copyFrom(previous.#logged)
    const { requests, seconds } = previous.policy.limit
    const sameLimit = requests === policy.limit.requests && seconds === policy.limit.seconds
    if (sameLimit) this.#buckets = previous.#buckets
  }

  /** Stops following issuers, unless another gate of this process does. Requests are still decided. */
  async close(): Promise<void> {
    this.#unsubscribe?.()
    await Promise.all(this.#trusted.map((each) => each.release()))
  }

  /**
   * Decides on a request: synchronously if the cache has a fresh answer. Never throws or rejects. If the gateway itself
   * fails, the policy's rule for an unreachable service applies.
   */
  decide(request: GatewayRequest): Outcome | Promise<Outcome> {
    try {
      const outcome = this.#decide(request)
      if (!(outcome instanceof Promise)) return this.#notify(outcome, request)
      return outcome
        .catch(() => this.#failureOutcome(request))
        .then((each) => this.#notify(each, request))
    } catch {
      return this.#notify(this.#failureOutcome(request), request)
    }
  }

  #decide(request: GatewayRequest): Outcome | Promise<Outcome> {
    if (request.preflight && this.policy.preflight === 'pass') return this.#preflightOutcome
    const rules = this.#routes.find(request.method, request.target)
    const session = this.#sessionOf(request)
    if (request.signed) return this.#decideSigned(request, rules, session)
    if (session === null) return this.#decideByRules(request, rules, null)
    return session.then((each) => this.#decideByRules(request, rules, each))
  }

  /** Null if the request has no bearer token; resolves to null if it is no valid session. */
  #sessionOf({ authorization, raw }: GatewayRequest): Promise<SessionCaller | null> | null {
    const { sessions } = this.#options
    const token = sessions === undefined ? null : bearerToken(authorization)
    if (sessions === undefined || token === null) return null
    return sessions.session(token).then((session) => {
      if (session === null) return null
      const { did, keySequence = 1, audience } = session
      // One of the sites behind could use the sessions that it receives at the others.
      const isElsewhere =
        this.#severalAudiences && audience !== undefined && !isAt(raw().authority, audience)
      return isElsewhere ? null : { kind: 'named', did, proof: 'session', keySequence }
    })
  }

  async #decideSigned(
    request: GatewayRequest,
    rules: number,
    session: Promise<SessionCaller | null> | null,
  ): Promise<Outcome> {
    const signedIn = await session
    if (this.#signatures === null) {
      const outcome = await this.#decideByRules(request, rules, signedIn)
      return unverifiedOutcome(this, outcome, NO_AUDIENCE, 401)
    }
    const inShadow = this.policy.mode === 'shadow'
    const { result, signer, lookup, basis, certificateFault } = await this.#signatures.check(
      request.raw(),
      async (each, known) => {
        const lookup = await this.#withLog(rules, each, known.lookup, known.basis)
        const isAdmitted = inShadow || this.#verdict(rules, each, lookup).action !== 'deny'
        return { lookup, isAdmitted }
      },
      request.readBody,
    )
    const { status } = result
    const signature = signatureOf(result)
    if (certificateFault !== null) {
      const outcome = this.#evaluate(rules, { kind: certificateFault }, null, null)
      return signedOutcome(this, outcome, signature)
    }
    if (signer !== null) {
      const other =
        (signedIn !== null && !(signer.kind === 'named' && signer.did === signedIn.did)) ||
        this.#namesAnother(request.identification, signer)
      const caller = other ? CONFLICT : signer
      const outcome = this.#evaluate(rules, caller, other ? null : lookup, basis)
      return this.#applyLimit(request, signedOutcome(this, outcome, signature))
    }
    if (result.verdict === 'unverified') {
      const outcome = await this.#decideByRules(request, rules, signedIn)
      const proofStatus = status === 429 || status === 503 ? status : 401
      return unverifiedOutcome(this, outcome, signature, proofStatus)
    }
    const caller = {
      kind: 'signature-invalid',
      status: status === 400 || status === 403 ? status : 401,
    } as const
    return signedOutcome(this, this.#evaluate(rules, caller, null, null), signature)
  }

  /**
   * @param rules their index in `#routes.all`, or -1 for all of them
   * @param session a valid session, if any
   */
  #decideByRules(
    request: GatewayRequest,
    rules: number,
    session: SessionCaller | null,
  ): Outcome | Promise<Outcome> {
    const caller = this.#callerOf(request.identification, session)
    if (caller.kind !== 'named') {
      const outcomes = this.#anonymousOutcomes[caller.kind]
      outcomes[rules + 1] ??= this.#evaluate(rules, caller, null, null)
      return this.#applyLimit(request, outcomes[rules + 1] as Outcome)
    }
    const cached = this.#agents.getFresh(caller.did)
    if (cached === undefined || isBefore(cached.agent, caller)) {
      return this.#decideByService(request, rules, caller)
    }
    if (hasEnded(caller, { kind: 'answered', agent: cached.agent })) {
      return this.#applyLimit(request, this.#evaluate(rules, SESSION_ENDED, null, null))
    }
    const index = 2 * (rules + 1) + (caller.proof === 'none' ? 0 : 1)
    const known = cached.derived[index]
    if (known !== undefined) return this.#applyLimit(request, known)
    const basis = this.#bases.cache
    const decideOn = (result: LookupResult | null): Outcome => {
      const outcome = this.#evaluate(rules, caller, result, basis)
      if (isLogFinal(result)) cached.derived[index] = outcome
      return this.#applyLimit(request, outcome)
    }
    const answer = { kind: 'answered', agent: cached.agent } as const
    const result = this.#withLog(rules, caller, answer, basis)
    return result instanceof Promise ? result.then(decideOn) : decideOn(result)
  }

  async #decideByService(
    request: GatewayRequest,
    rules: number,
    caller: NamedCaller | SessionCaller,
  ): Promise<Outcome> {
    const basis = this.#bases.service
    const answer = await this.#agents.lookup(caller.did)
    const current = hasEnded(caller, answer) ? SESSION_ENDED : caller
    const result = await this.#withLog(rules, current, answer, basis)
    return this.#applyLimit(request, this.#evaluate(rules, current, result, basis))
  }

  /** Adds whether the key of the agent is logged, if a decision by these rules depends on it. */
  #withLog(
    rules: number,
    caller: Caller,
    result: LookupResult | null,
    basis: Basis | null,
  ): LookupResult | null | Promise<LookupResult> {
    const issuer = basis?.issuer ?? null
    if (this.#logged === null || result === null || issuer === null) return result
    return this.#logged.complete(result, { rules: this.#routes.rulesAt(rules), caller, issuer })
  }

  #callerOf(
    identification: string | null,
    session: SessionCaller | null,
  ): NamedCaller | SessionCaller | AnonymousCaller {
    if (identification === null) return session ?? ANONYMOUS
    const named = this.#callers.get(identification) ?? this.#parse(identification)
    if (named === null) return UNREADABLE
    if (session === null) return named
    return session.did === named.did ? session : CONFLICT
  }

  /**
   * Whether the identification header names another agent than the one that signed. The verifier compares them for agents of the
   * service; those of other issuers may have another identification header.
   */
  #namesAnother(identification: string | null, signer: Signer): boolean {
    if (identification === null || signer.kind !== 'named') return false
    const named = this.#callers.get(identification) ?? this.#parse(identification)
    return signer.did !== identification && signer.did !== named?.did
  }

  #parse(identification: string): NamedCaller | null {
    const tail = parseDidOrTail(this.naming, identification)
    if (tail === null) return null
    const named = { kind: 'named', did: didOf(this.naming, tail), proof: 'none' } as const
    this.#callers.set(identification, named)
    return named
  }

  #evaluate(
    rules: number,
    caller: Caller,
    result: LookupResult | null,
    basis: Basis | null,
  ): Outcome {
    const known =
      result?.kind === 'answered' || basis === null
        ? basis
        : { ...basis, source: null, statusAgeSeconds: null }
    return outcomeOf(this, caller, this.#verdict(rules, caller, result), known)
  }

  #verdict(rules: number, caller: Caller, result: LookupResult | null): Verdict {
    return strictest(
      this.#routes.rulesAt(rules).map((each) => decide(each, this.naming.idHeader, caller, result)),
    )
  }

  /** Refuses with 429 if the action is `limit` and the rate limit is exceeded. */
  #applyLimit(request: GatewayRequest, outcome: Outcome): Outcome {
    if (outcome.decision.action !== 'limit') return outcome
    const key = limitKey(outcome.decision) ?? addressKey(addressOf(request) ?? '')
    const seconds = this.#buckets.take(key, this.#now())
    return seconds === 0 ? outcome : rateLimitedOutcome(this, outcome, seconds)
  }

  #failureOutcome({ method, target }: GatewayRequest): Outcome {
    const rules = this.#routes.rulesAt(this.#routes.find(method, target))
    return outcomeOf(this, ANONYMOUS, strictest(rules.map(failureVerdict)), null)
  }

  /** Calls `onDecision`. Its errors are ignored: a failing log must not refuse requests. */
  #notify(outcome: Outcome, request: GatewayRequest): Outcome {
    const { onDecision } = this.#options
    if (onDecision === undefined) return outcome
    try {
      const { method, target } = request
      const decided: DecidedRequest = { method, path: pathOf(target), address: addressOf(request) }
      const returned = onDecision(outcome.decision, decided)
      if (returned instanceof Promise) returned.catch(() => undefined)
    } catch {}
    return outcome
  }
}

const MAX_CALLERS = 1_000
/** One function for all gates, so that those of a process share the followers of issuers. */
const monotonic = () => performance.now()
const ANONYMOUS: AnonymousCaller = { kind: 'none' }
const UNREADABLE: AnonymousCaller = { kind: 'unreadable' }
const CONFLICT: AnonymousCaller = { kind: 'conflict' }
const SESSION_ENDED: Caller = { kind: 'session-ended' }
