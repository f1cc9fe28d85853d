import type {
  Approval,
  Delegation,
  Naming,
  SignatureResult,
  UnverifiedResult,
} from '@countersign/protocol'
import type { Mode, Policy, Rules } from '../policy/policy.ts'
import { type ForwardedHeaders, forwardedHeaders } from '../request/headers.ts'
import {
  type Caller,
  decide,
  failureVerdict,
  type LookupResult,
  refusalOf,
  strictest,
  type Verdict,
} from './decide.ts'
import type { Basis, Decision, Refusal, RequestSignature } from './decision.ts'
import { type Reason, type ReasonCode, reason } from './reasons.ts'

/** A decision with the headers for the site behind the gateway. */
export interface Outcome {
  readonly decision: Decision
  readonly forwarded: ForwardedHeaders
}

export interface OutcomeContext {
  readonly naming: Naming
  readonly policy: Pick<Policy, 'mode'>
}

/** The outcome by the strictest of the rules that may apply, at least one. @param basis what is known of the agent */
export function evaluate(
  context: OutcomeContext,
  rules: readonly Rules[],
  caller: Caller,
  result: LookupResult | null,
  basis: Basis | null,
): Outcome {
  const known =
    result?.kind === 'answered' || basis === null
      ? basis
      : { ...basis, source: null, statusAgeSeconds: null }
  const verdicts = rules.map((each) => decide(each, context.naming.idHeader, caller, result))
  return outcomeOf(context, caller, strictest(verdicts), known)
}

/** The outcome if the gateway itself fails. @param isDelegated the request has a chain of delegations, which nothing replaces */
export function failureOutcome(
  context: OutcomeContext,
  rules: readonly Rules[],
  isDelegated: boolean,
): Outcome {
  const verdicts = rules.map((each) =>
    failureVerdict(isDelegated ? { unreachable: 'deny', approval: null } : each),
  )
  return outcomeOf(context, { kind: 'none' }, strictest(verdicts), null)
}

/** Completes a verdict. @param basis what it is based on; null if the caller is no agent */
export function outcomeOf(
  context: OutcomeContext,
  caller: Caller,
  { action, level, reasons, refusal, agent, staleSeconds }: Verdict,
  basis: Basis | null,
): Outcome {
  const named = caller.kind === 'named' ? caller : null
  return freeze(context, {
    action,
    admitted: isAdmitted(context.policy.mode, action),
    mode: context.policy.mode,
    level,
    reasons,
    refusal,
    did: named?.did ?? null,
    status: agent?.status ?? null,
    verified: agent?.verified ?? false,
    identityLevel: agent === null ? null : (agent.identityMethod ?? 'unverified'),
    grade: agent?.grade ?? null,
    issuer: named === null ? null : (basis?.issuer ?? null),
    source: staleSeconds === null ? (basis?.source ?? null) : 'stale',
    statusAgeSeconds: staleSeconds ?? basis?.statusAgeSeconds ?? null,
    proof: named?.proof ?? 'none',
    proofOfPossession: (named?.proof ?? 'none') !== 'none',
    signature: null,
    directory: caller.kind === 'directory' ? caller.url : null,
    delegation: delegateOf(named?.delegation),
    approval: null,
  })
}

/** @param delegation proven */
function delegateOf({ keyid, depth, hops }: Partial<Delegation> = {}): Decision['delegation'] {
  const last = hops?.at(-1)
  if (!keyid || depth === undefined || last === undefined) return null
  return Object.freeze({ keyid, depth, expiresAt: last.expiresAt })
}

/** Turns an outcome into a refusal with status 429. @param seconds until the next request is allowed */
export function rateLimitedOutcome(
  context: OutcomeContext,
  outcome: Outcome,
  seconds: number,
): Outcome {
  return refusedOutcome(context, outcome, reason('over-limit', seconds), refusalOf(429, seconds))
}

/** Turns an outcome into a refusal for a further reason. */
export function refusedOutcome(
  context: OutcomeContext,
  { decision }: Outcome,
  why: Reason,
  refusal: Refusal,
): Outcome {
  return freeze(context, {
    ...decision,
    action: 'deny',
    admitted: isAdmitted(decision.mode, 'deny'),
    reasons: [why, ...decision.reasons],
    refusal,
  })
}

/** Adds the approval that admits a request. */
export function approvedOutcome(
  context: OutcomeContext,
  { decision }: Outcome,
  { id, by, at, expiresAt }: Approval,
): Outcome {
  return freeze(context, { ...decision, approval: Object.freeze({ id, by, at, expiresAt }) })
}

/** Adds what is known of the request's signature. Of that, headers say only the digest. */
export function signedOutcome(
  { naming }: OutcomeContext,
  { decision, forwarded }: Outcome,
  result: SignatureResult,
): Outcome {
  const signature = Object.freeze(signatureOf(result))
  const signed = Object.freeze({ ...decision, signature })
  if (signature.contentDigest === null) return { decision: signed, forwarded }
  return { decision: signed, forwarded: forwardedHeaders(naming, signed) }
}

/**
 * The outcome for a request whose signature could not be verified, from that without the signature: if it is refused because it
 * proves nothing, the refusal says why, and when to try again. The reasons name the signature instead of `header-only`.
 * @param retryAfterSeconds when, if its replay could not be checked; null: never
 */
export function unverifiedOutcome(
  context: OutcomeContext,
  { decision }: Outcome,
  result: UnverifiedResult,
  retryAfterSeconds: number | null,
): Outcome {
  const signature = signatureOf(result)
  const { refusal, reasons } = decision
  const { status } = result
  const isUnchecked = result.reason === 'replay-unchecked'
  const noStore = isUnchecked && retryAfterSeconds === null
  const code = noStore
    ? 'no-nonce-store'
    : isUnchecked
      ? 'replay-unchecked'
      : 'signature-unverified'
  // It has a signature, so it did not only send the header.
  const [first, ...more] = reasons
  const others = more.filter((each) => each.code !== 'header-only')
  if (refusal === null || !NEEDS_PROOF.includes(first.code)) {
    const isNamed = others.length < more.length
    const honest = isNamed ? ([first, ...others, reason(code)] as const) : reasons
    return freeze(context, { ...decision, signature, reasons: honest })
  }
  const seconds = isUnchecked ? retryAfterSeconds : 1
  return freeze(context, {
    ...decision,
    signature,
    reasons: [reason(code), first, ...others],
    refusal: status === 429 || status === 503 ? refusalOf(status, seconds) : refusal,
  })
}

const NEEDS_PROOF: readonly ReasonCode[] = [
  'no-identification',
  'proof-required',
  'delegation-unproven',
]

function isAdmitted(mode: Mode, action: Decision['action']): boolean {
  return mode === 'shadow' || action !== 'deny'
}

/** Freezes the decision, because it is shared between requests. */
function freeze({ naming }: OutcomeContext, decision: Decision): Outcome {
  for (const each of decision.reasons) Object.freeze(each)
  Object.freeze(decision.reasons)
  Object.freeze(decision.refusal)
  Object.freeze(decision.signature)
  return { decision: Object.freeze(decision), forwarded: forwardedHeaders(naming, decision) }
}

/** For the decision. The digest counts only with the signature. */
function signatureOf(result: SignatureResult): RequestSignature {
  const { verdict, reason, keyid, signatureAgent, profile, replay, digest } = result
  const contentDigest = verdict === 'verified' ? result.contentDigest : null
  const url = signatureAgent?.url ?? null
  return { verdict, reason, keyid, signatureAgent: url, profile, replay, digest, contentDigest }
}
