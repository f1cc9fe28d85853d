import {
  type Naming,
  type NonceStore,
  refuseSignature,
  type UnverifiedResult,
} from '@countersign/protocol'
import { type KeyDirectories, keyDirectories, memoryNonceStore } from '@countersign/sdk'
import { AgentCache } from './agent-cache.ts'
import { Approvals } from './approvals.ts'
import {
  ANONYMOUS,
  type AnonymousKind,
  CONFLICT,
  DELEGATION_UNPROVEN,
  hasEnded,
  Identifications,
  isBefore,
  type NamedCaller,
  refusedCaller,
  SESSION_ENDED,
  type SessionCaller,
  sessionOf,
} from './callers.ts'
import { type Caller, isLogFinal, type LookupResult, PREFLIGHT } from './decision/decide.ts'
import type { Basis, CertificateFault, Proof } from './decision/decision.ts'
import {
  evaluate,
  failureOutcome,
  type Outcome,
  outcomeOf,
  rateLimitedOutcome,
  signedOutcome,
  unverifiedOutcome,
} from './decision/outcome.ts'
import { type TrustedIssuer, trustedIssuers } from './issuers/trusted-issuers.ts'
import { type LoggedKeys, loggedKeysFor } from './logged-keys.ts'
import type { GatewayOptions } from './options.ts'
import type { Policy } from './policy/policy.ts'
import { pathOf, RouteMatcher } from './policy/route-matcher.ts'
import { type ReadOptions, readOptions, reportMissingStore } from './read-options.ts'
import { addressOf, limitKey } from './request/address-key.ts'
import type { GatewayRequest } from './request/gateway-request.ts'
import { type AcceptedProofs, identityHeaderMatcher, varyHeader } from './request/headers.ts'
import { carriesChain, NO_AUDIENCE, Signatures, timely } from './signatures.ts'
import type { Signer, SignerKey } from './signer-keys.ts'
import { TokenBuckets } from './token-buckets.ts'

/** What an adapter adds to the options of a gateway. */
export interface GateOptions extends GatewayOptions {
  /**
   * Whether to follow the issuers of the policy's `trust`. Default: false, so that a policy that is only examined opens no connection;
   * certificates in requests then do not count.
   */
  readonly followsIssuers?: boolean
  /** Whether the adapter reads bodies, or the application may have read them before. Default: true. */
  readonly seesBodies?: boolean
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
  readonly #settings: ReadOptions
  readonly #routes: RouteMatcher
  readonly #agents: AgentCache<Outcome>
  readonly #buckets: TokenBuckets
  readonly #nonces: NonceStore
  readonly #directories: KeyDirectories
  /** Null without audiences. */
  readonly #signatures: Signatures | null
  readonly #trusted: readonly TrustedIssuer[]
  /** Null if the policy has no `requireLogged`. */
  readonly #logged: LoggedKeys | null
  readonly #approvals: Approvals
  /** For each slot of the rules (`#slotOf`) whether some of them require an approval. */
  readonly #needsApproval: readonly boolean[]
  readonly #unsubscribe: readonly (() => void)[]
  readonly #preflightOutcome: Outcome
  readonly #identifications: Identifications
  /** Outcomes for callers without an agent, by the slot of the rules (`#slotOf`). They never change. */
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
    const settings = readOptions(options, options.seesBodies ?? true)
    const { naming, policy, audiences, issuer, now } = settings
    this.naming = naming
    this.policy = policy
    this.signInUrl = settings.signInUrl
    this.idHeader = naming.idHeader.toLowerCase()
    this.isIdentityHeader = identityHeaderMatcher(naming.idHeader)
    this.accepts = { sessions: options.sessions !== undefined, signatures: audiences.length > 0 }
    this.vary = varyHeader(naming, this.accepts)
    this.#options = options
    this.#identifications = new Identifications(naming)
    this.#settings = settings
    this.#routes = new RouteMatcher(policy)
    this.#preflightOutcome = outcomeOf(this, ANONYMOUS, PREFLIGHT, null)
    this.#agents = new AgentCache(settings)
    const isKept = (part: 'directories' | 'limit') =>
      JSON.stringify(previous?.policy[part]) === JSON.stringify(policy[part])
    // A new store would not know which nonces were used.
    this.#nonces =
      options.nonces ?? (previous ? previous.#nonces : memoryNonceStore(undefined, options.clock))
    if (this.accepts.signatures && !previous) reportMissingStore(this.#nonces, policy)
    this.#directories =
      previous && isKept('directories')
        ? previous.#directories
        : keyDirectories(policy.directories, { fetch: options.fetchDirectory, now })
    this.#trusted = options.followsIssuers ? trustedIssuers(settings) : []
    this.#signatures = this.accepts.signatures
      ? new Signatures({
          ...settings,
          agents: this.#agents,
          nonces: this.#nonces,
          directories: this.#directories,
          trusted: this.#trusted,
        })
      : null
    this.#approvals = new Approvals({ ...settings, nonces: timely(this.#nonces) })
    const needing = this.#routes.all.map(({ approval }) => approval !== null)
    this.#needsApproval = [...needing, needing.includes(true)]
    this.#logged = loggedKeysFor(this.#routes.all, { ...settings, trusted: this.#trusted })
    this.#buckets = previous && isKept('limit') ? previous.#buckets : new TokenBuckets(policy.limit)
    if (previous !== undefined) this.#learnFrom(previous)
    const own = this.#trusted.find((each) => each.issuer === issuer)
    this.#unsubscribe = [
      ...(own ? [own.follower.onRestricted((did) => this.#agents.restrict(did))] : []),
      ...this.#trusted.map((each) => each.onFault(options.onFeedFault)),
    ]
  }

  /** A nonce to sign with, for those whose signature the store may not know. */
  readonly challenge = (): string | null => this.#nonces.challenge?.() ?? null

  /** Takes over the cached answers and logged keys that still apply. */
  #learnFrom(previous: Gate): void {
    if (previous.#settings.registry === this.#settings.registry) {
      this.#agents.copyFrom(previous.#agents)
    }
    if (previous.#logged !== null) this.#logged?.copyFrom(previous.#logged)
  }

  /** Stops following issuers, unless another gate of this process does. Requests are still decided. */
  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    await Promise.all(this.#trusted.map((each) => each.release()))
  }

  /**
   * Decides on a request: synchronously if the cache has a fresh answer. Never throws or rejects. If the gateway itself
   * fails, the policy's rule for an unreachable service applies.
   */
  decide(request: GatewayRequest): Outcome | Promise<Outcome> {
    try {
      const outcome = this.#decide(request)
      if (!(outcome instanceof Promise)) return this.#report(outcome, request)
      return outcome.then(
        (each) => this.#report(each, request),
        () => this.#report(this.#failureOutcome(request), request),
      )
    } catch {
      return this.#report(this.#failureOutcome(request), request)
    }
  }

  #decide(request: GatewayRequest): Outcome | Promise<Outcome> {
    if (request.preflight && this.policy.preflight === 'pass') return this.#preflightOutcome
    const ruleIndex = this.#routes.find(request.method, request.target)
    const { sessions } = this.#options
    const session = sessions === undefined ? null : sessionOf(request, sessions, this.#settings)
    if (request.signed) return this.#decideSigned(request, ruleIndex, session)
    if (session === null) return this.#decideByRules(request, ruleIndex, null)
    return session.then((each) => this.#decideByRules(request, ruleIndex, each))
  }

  /**
   * A signed request, step by step: parse, key and signature, log and policy, nonce and body, decision. The nonces
   * of those whom the policy refuses are not recorded.
   */
  async #decideSigned(
    request: GatewayRequest,
    ruleIndex: number | null,
    session: Promise<SessionCaller | null> | null,
  ): Promise<Outcome> {
    const signedIn = await session
    const signatures = this.#signatures
    const unproven = (result: UnverifiedResult, why: Partial<Unproven> = {}) =>
      this.#decideUnproven(request, ruleIndex, signedIn, { ...UNPROVEN, ...why, result })
    if (signatures === null) return unproven(NO_AUDIENCE)

    const signature = signatures.read(request.raw())
    if ('verdict' in signature) return unproven(signature)

    const found = await signatures.prove(signature)
    if ('result' in found) return unproven(found.result, found)

    const needsApproval = this.#needsApproval[this.#slotOf(ruleIndex)] === true
    const known = needsApproval ? await this.#approvals.attach(found, signature.trusted) : found
    const { proven, signer, basis } = known
    const outcome = await this.#outcomeFor(ruleIndex, signer, known)
    const { admitted: isAdmitted, reasons } = outcome.decision
    const [{ code }] = reasons
    const result = isAdmitted
      ? await signatures.accept(proven, request.readBody)
      : refuseSignature(proven, code === 'delegation-refused' ? code : 'not-admitted')
    if (isAdmitted && result.verdict !== 'verified') {
      return unproven(result, { retryAfterSeconds: signatures.retryAfterSeconds(proven) })
    }

    const decided = this.#identifications.nameAnother(signer, request.identification, signedIn)
      ? this.#evaluate(ruleIndex, CONFLICT, null, basis)
      : outcome
    const limited = this.#applyLimit(request, signedOutcome(this, decided, result))
    const carried = signer.kind === 'named' ? signer.approval : undefined
    if (carried === undefined || limited.decision.action === 'deny') return limited
    return this.#approvals.use(this, limited, {
      carried,
      rules: this.#routes.rulesAt(ruleIndex),
      proven,
      digest: result.digest,
      seesContent: request.readBody === null,
    })
  }

  /** What the policy says of an agent: decided once for each answer of the service, while that is cached. */
  #outcomeFor(
    ruleIndex: number | null,
    caller: NamedCaller | SessionCaller | Signer,
    { lookup, basis, derived }: Pick<SignerKey, 'lookup' | 'basis' | 'derived'>,
  ): Outcome | Promise<Outcome> {
    const proof = caller.kind === 'named' ? PROOFS.indexOf(caller.proof) : 0
    const index = PROOFS.length * this.#slotOf(ruleIndex) + proof
    const known = derived?.[index]
    if (known !== undefined) return known
    const decideOn = (result: LookupResult | null): Outcome => {
      const outcome = this.#evaluate(ruleIndex, caller, result, basis)
      if (derived !== null && isLogFinal(result)) derived[index] = outcome
      return outcome
    }
    const result = this.#withInclusionProof(ruleIndex, caller, lookup, basis)
    return result instanceof Promise ? result.then(decideOn) : decideOn(result)
  }

  /** A signature that proves nothing: the request is refused if it is invalid, and decided without it if that is not known. */
  async #decideUnproven(
    request: GatewayRequest,
    ruleIndex: number | null,
    session: SessionCaller | null,
    {
      result,
      certificateFault,
      retryAfterSeconds,
    }: Unproven & { readonly result: UnverifiedResult },
  ): Promise<Outcome> {
    if (result.verdict === 'unverified' && certificateFault === null) {
      const outcome = this.#carriesChain(request)
        ? this.#evaluate(ruleIndex, DELEGATION_UNPROVEN, null, null)
        : await this.#decideByRules(request, ruleIndex, session)
      return unverifiedOutcome(this, outcome, result, retryAfterSeconds)
    }
    const caller = certificateFault === null ? refusedCaller(result) : { kind: certificateFault }
    return signedOutcome(this, this.#evaluate(ruleIndex, caller, null, null), result)
  }

  /** A chain counts only with the signature: without it, neither a session nor the header admits the request. */
  #carriesChain(request: GatewayRequest): boolean {
    const namings = [this.naming, ...this.#trusted.map(({ naming }) => naming)]
    return carriesChain(request.raw(), namings)
  }

  /** @param session a valid session, if any */
  #decideByRules(
    request: GatewayRequest,
    ruleIndex: number | null,
    session: SessionCaller | null,
  ): Outcome | Promise<Outcome> {
    const caller = this.#identifications.callerOf(request.identification, session)
    const slot = this.#slotOf(ruleIndex)
    if (caller.kind !== 'named') {
      const outcomes = this.#anonymousOutcomes[caller.kind]
      outcomes[slot] ??= this.#evaluate(ruleIndex, caller, null, null)
      return this.#applyLimit(request, outcomes[slot])
    }
    const cached = this.#agents.getFresh(caller.did)
    if (cached === undefined || isBefore(cached.agent, caller)) {
      return this.#decideByService(request, ruleIndex, caller)
    }
    const answer = { kind: 'answered', agent: cached.agent } as const
    if (hasEnded(caller, answer)) {
      return this.#applyLimit(request, this.#evaluate(ruleIndex, SESSION_ENDED, null, null))
    }
    const outcome = this.#outcomeFor(ruleIndex, caller, {
      lookup: answer,
      basis: this.#settings.bases.cache,
      derived: cached.derived,
    })
    return outcome instanceof Promise
      ? outcome.then((each) => this.#applyLimit(request, each))
      : this.#applyLimit(request, outcome)
  }

  /** Where outcomes by some rules are remembered. */
  #slotOf(ruleIndex: number | null): number {
    return ruleIndex ?? this.#routes.all.length
  }

  async #decideByService(
    request: GatewayRequest,
    ruleIndex: number | null,
    caller: NamedCaller | SessionCaller,
  ): Promise<Outcome> {
    const basis = this.#settings.bases.service
    const answer = await this.#agents.lookup(caller.did)
    const current = hasEnded(caller, answer) ? SESSION_ENDED : caller
    const result = await this.#withInclusionProof(ruleIndex, current, answer, basis)
    return this.#applyLimit(request, this.#evaluate(ruleIndex, current, result, basis))
  }

  /** Adds whether the key of the agent is logged, if a decision by these rules depends on it. */
  #withInclusionProof(
    ruleIndex: number | null,
    caller: Caller,
    result: LookupResult | null,
    basis: Basis | null,
  ): LookupResult | null | Promise<LookupResult> {
    const issuer = basis?.issuer ?? null
    if (this.#logged === null || result === null || issuer === null) return result
    return this.#logged.complete(result, { rules: this.#routes.rulesAt(ruleIndex), caller, issuer })
  }

  #evaluate(
    ruleIndex: number | null,
    caller: Caller,
    result: LookupResult | null,
    basis: Basis | null,
  ): Outcome {
    return evaluate(this, this.#routes.rulesAt(ruleIndex), caller, result, basis)
  }

  /** Refuses with 429 if the action is `limit` and the rate limit is exceeded. */
  #applyLimit(request: GatewayRequest, outcome: Outcome): Outcome {
    if (outcome.decision.action !== 'limit') return outcome
    const key = limitKey(outcome.decision, request)
    const seconds = this.#buckets.take(key, this.#settings.now())
    return seconds === 0 ? outcome : rateLimitedOutcome(this, outcome, seconds)
  }

  /** Calls `onDecision`. Its errors are ignored: a failing log must not refuse requests. */
  #report(outcome: Outcome, request: GatewayRequest): Outcome {
    const { onDecision } = this.#options
    if (onDecision === undefined) return outcome
    try {
      const { method, target } = request
      const decided = { method, path: pathOf(target), address: addressOf(request) }
      const returned = onDecision(outcome.decision, decided)
      if (returned instanceof Promise) returned.catch(() => undefined)
    } catch {}
    return outcome
  }

  #failureOutcome(request: GatewayRequest): Outcome {
    const rules = this.#routes.rulesAt(this.#routes.find(request.method, request.target))
    return failureOutcome(this, rules, request.signed && this.#carriesChain(request))
  }
}

const PROOFS: readonly Proof[] = ['none', 'session', 'signature']

/** What is known of a signature that proves nothing, besides the result. */
interface Unproven {
  readonly certificateFault: CertificateFault | null
  /** When its replay can be checked, if that is the reason; null: never. */
  readonly retryAfterSeconds: number | null
}

const UNPROVEN: Unproven = { certificateFault: null, retryAfterSeconds: null }
