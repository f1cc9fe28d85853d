import type { Naming } from '@countersign/protocol'
import { type ForwardedHeaders, forwardedHeaders } from '../forwarded-headers.ts'
import type { Mode, Policy } from '../policy/policy.ts'
import { type Caller, refusalOf, type Verdict } from './decide.ts'
import type { Basis, Decision, RequestSignature } from './decision.ts'
import { type ReasonCode, reason } from './reasons.ts'

/** A decision with the headers for the site behind the gateway. */
export interface Outcome {
  readonly decision: Decision
  readonly forwarded: ForwardedHeaders
}

interface OutcomeContext {
  readonly naming: Naming
  readonly policy: Pick<Policy, 'mode'>
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
  })
}

/** Turns an outcome into a refusal with status 429. @param seconds until the next request is allowed */
export function rateLimitedOutcome(
  context: OutcomeContext,
  { decision }: Outcome,
  seconds: number,
): Outcome {
  return freeze(context, {
    ...decision,
    action: 'deny',
    admitted: isAdmitted(decision.mode, 'deny'),
    reasons: [reason('over-limit', seconds), ...decision.reasons],
    refusal: refusalOf(429, seconds),
  })
}

/** Adds what is known of the request's signature. */
export function signedOutcome(
  context: OutcomeContext,
  { decision }: Outcome,
  signature: RequestSignature,
): Outcome {
  return freeze(context, { ...decision, signature })
}

/**
 * The outcome for a request whose signature could not be verified, from that without the signature: if it is refused because it
 * proves nothing, the refusal says why, and when to try again.
 * @param status for a request that needs proof
 */
export function unverifiedOutcome(
  context: OutcomeContext,
  { decision }: Outcome,
  signature: RequestSignature,
  status: 401 | 429 | 503,
): Outcome {
  const { refusal, reasons } = decision
  const lacksProof = NEEDS_PROOF.includes(reasons[0].code)
  if (refusal === null || !lacksProof) return freeze(context, { ...decision, signature })
  return freeze(context, {
    ...decision,
    signature,
    reasons: [reason('signature-unverified'), ...reasons],
    refusal: status === 401 ? refusal : refusalOf(status, 1),
  })
}

const NEEDS_PROOF: readonly ReasonCode[] = ['no-identification', 'proof-required']

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
