import type { Naming } from '@countersign/protocol'
import { type Forwarded, forwardedOf } from '../forwarded.ts'
import type { Mode, Policy, WhenUnreachable } from '../policy/policy.ts'
import { type Caller, UNAVAILABLE, type Verdict } from './decide.ts'
import type { Decision } from './decision.ts'
import { reason } from './reasons.ts'

/** A decision, and what the site behind is told of it. */
export interface Ruling {
  readonly decision: Decision
  readonly forwarded: Forwarded
}

/** Where a decision is made. */
interface Setting {
  readonly naming: Naming
  readonly policy: Pick<Policy, 'mode'>
}

/** A verdict in full. @param source of the facts, if they are not stale */
export function rulingOf(
  setting: Setting,
  caller: Caller,
  { action, level, reasons, refusal, facts, stale }: Verdict,
  source: 'service' | 'cache' | null,
): Ruling {
  const named = caller.kind === 'named' ? caller : null
  return ruling(setting, {
    action,
    admitted: isAdmitted(setting.policy.mode, action),
    mode: setting.policy.mode,
    level,
    reasons,
    refusal,
    did: named?.did ?? null,
    status: facts?.status ?? null,
    verified: facts?.verified ?? false,
    identityLevel: facts === null ? null : (facts.identityMethod ?? 'unverified'),
    grade: facts?.grade ?? null,
    source: stale ? 'stale' : source,
    proofOfPossession: named?.proven ?? false,
  })
}

/** What becomes of a ruling for which there have been too many. */
export function refusedByLimit(setting: Setting, { decision }: Ruling, seconds: number): Ruling {
  return ruling(setting, {
    ...decision,
    action: 'deny',
    admitted: isAdmitted(decision.mode, 'deny'),
    reasons: [reason('over-limit', seconds), ...decision.reasons],
    refusal: { status: 429, code: 'RATE_LIMITED', retryAfterSeconds: seconds },
  })
}

/** What becomes of a request that could not be decided: as if the service were out of reach, with nothing known. */
export function refusedByFailure(setting: Setting, rule: WhenUnreachable): Ruling {
  const action = rule === 'stale' ? 'deny' : rule
  const refusal = action === 'deny' ? UNAVAILABLE : null
  const reasons = [reason('gateway-failed')] as const
  const verdict: Verdict = { action, level: null, reasons, refusal, facts: null, stale: false }
  return rulingOf(setting, { kind: 'none' }, verdict, null)
}

function isAdmitted(mode: Mode, action: Decision['action']): boolean {
  return mode === 'shadow' || action !== 'deny'
}

function ruling({ naming }: Setting, decision: Decision): Ruling {
  for (const each of decision.reasons) Object.freeze(each)
  Object.freeze(decision.reasons)
  Object.freeze(decision.refusal)
  return { decision: Object.freeze(decision), forwarded: forwardedOf(naming, decision) }
}
