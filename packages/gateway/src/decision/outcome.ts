import type { Naming } from '@countersign/protocol'
import { type ForwardedHeaders, forwardedHeaders } from '../forwarded-headers.ts'
import type { Mode, Policy } from '../policy/policy.ts'
import { type Caller, refusalOf, type Verdict } from './decide.ts'
import type { Decision } from './decision.ts'
import { reason } from './reasons.ts'

/** A decision with the headers for the site behind the gateway. */
export interface Outcome {
  readonly decision: Decision
  readonly forwarded: ForwardedHeaders
}

interface OutcomeContext {
  readonly naming: Naming
  readonly policy: Pick<Policy, 'mode'>
}

/** Completes a verdict. @param source where the agent's data comes from, if it is not stale */
export function outcomeOf(
  context: OutcomeContext,
  caller: Caller,
  { action, level, reasons, refusal, agent, stale }: Verdict,
  source: 'service' | 'cache' | null,
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
    source: stale ? 'stale' : source,
    proofOfPossession: named?.proven ?? false,
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

function isAdmitted(mode: Mode, action: Decision['action']): boolean {
  return mode === 'shadow' || action !== 'deny'
}

/** Freezes the decision, because it is shared between requests. */
function freeze({ naming }: OutcomeContext, decision: Decision): Outcome {
  for (const each of decision.reasons) Object.freeze(each)
  Object.freeze(decision.reasons)
  Object.freeze(decision.refusal)
  return { decision: Object.freeze(decision), forwarded: forwardedHeaders(naming, decision) }
}
