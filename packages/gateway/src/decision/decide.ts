import type { Grade } from '@countersign/sdk'
import type { Level, Rules } from '../policy/policy.ts'
import type { Action, Facts, Refusal } from './decision.ts'
import { type Reason, reason } from './reasons.ts'

/** Who a request says it is from. */
export type Caller =
  | { readonly kind: 'none' | 'unreadable' | 'conflict' }
  | { readonly kind: 'named'; readonly did: string; readonly proven: boolean }

/** What is known of a named agent: `facts` are null where the service knows none of this name. */
export type Answer =
  | { readonly kind: 'said'; readonly facts: Facts | null }
  | {
      readonly kind: 'unreachable'
      /** What the service said last, if that is known here. */
      readonly last: { readonly facts: Facts | null; readonly ageSeconds: number } | null
    }

/** What a policy says, before the limit. */
export interface Verdict {
  readonly action: Action
  readonly level: Level | null
  readonly reasons: readonly [Reason, ...Reason[]]
  readonly refusal: Refusal | null
  /** What it went by, null where that is nothing. */
  readonly facts: Facts | null
  readonly stale: boolean
}

/**
 * Decides by the rules alone: the same request and the same facts give the same verdict. Total: it never throws.
 * The order: who is named; the deny list; whether the service can be asked; whether it knows the agent; the status;
 * proof; the allow list; the grade; the level.
 * @param header the name of the identification header, for the words
 * @param answer null where nobody is named who could be asked about
 */
export function decide(
  rules: Rules,
  header: string,
  caller: Caller,
  answer: Answer | null,
): Verdict {
  if (caller.kind === 'none') {
    return byLevel(rules, 'none', UNAUTHENTICATED, [reason('no-identification', header)])
  }
  if (caller.kind !== 'named') {
    const code = `identification-${caller.kind}` as const
    return byLevel(rules, 'unknown', UNAUTHENTICATED, [reason(code, header)])
  }
  const how = caller.proven ? reason('session-proven') : reason('header-only', header)
  if (rules.deny.includes(caller.did)) return deny(FORBIDDEN, [reason('deny-list'), how])
  if (answer?.kind === 'said') return byFacts(rules, caller.proven, answer.facts, [how])
  const last = answer?.last ?? null
  if (rules.unreachable === 'stale' && last !== null && last.ageSeconds <= rules.maxStaleSeconds) {
    const age = reason('answer-stale', Math.round(last.ageSeconds))
    return { ...byFacts(rules, caller.proven, last.facts, [age, how]), stale: true }
  }
  const why = [reason('service-unreachable'), how] as const
  if (rules.unreachable === 'flag' || rules.unreachable === 'allow') {
    return { ...NOTHING, action: rules.unreachable, reasons: why }
  }
  return deny(UNAVAILABLE, why)
}

/** Where it cannot be told which rules count: the strictest verdict of all. */
export function strictest(verdicts: readonly [Verdict, ...Verdict[]]): Verdict {
  return verdicts.reduce((a, b) => (STRICTNESS[b.action] > STRICTNESS[a.action] ? b : a))
}

const STRICTNESS: Readonly<Record<Action, number>> = { allow: 0, flag: 1, limit: 2, deny: 3 }
const NOTHING = { level: null, refusal: null, facts: null, stale: false } as const

const UNAUTHENTICATED: Refusal = {
  status: 401,
  code: 'UNAUTHENTICATED',
  retryAfterSeconds: null,
}
const FORBIDDEN: Refusal = { status: 403, code: 'FORBIDDEN', retryAfterSeconds: null }
export const UNAVAILABLE: Refusal = { status: 503, code: 'UNAVAILABLE', retryAfterSeconds: 5 }

type Reasons = readonly [Reason, ...Reason[]]

function byFacts(
  rules: Rules,
  proven: boolean,
  facts: Facts | null,
  more: readonly Reason[],
): Verdict {
  if (facts === null)
    return byLevel(rules, 'unknown', FORBIDDEN, [reason('agent-unknown'), ...more])
  const { status, grade } = facts
  const refuse = (refusal: Refusal, why: Reason): Verdict => ({
    ...deny(refusal, [why, ...more]),
    facts,
  })
  if (!rules.statuses.includes(status)) return refuse(FORBIDDEN, reason('status-refused', status))
  if (rules.requireProof && !proven) return refuse(UNAUTHENTICATED, reason('proof-required'))
  if (rules.allow.includes(facts.did)) {
    return { ...NOTHING, action: 'allow', reasons: [reason('allow-list'), ...more], facts }
  }
  const least = rules.minimumGrade
  if (least !== null && !isAtLeast(grade, least)) {
    const why =
      grade === null ? reason('grade-unknown', least) : reason('grade-too-low', grade, least)
    return refuse(FORBIDDEN, why)
  }
  const { level, why } = levelOf(rules, facts)
  return { ...byLevel(rules, level, FORBIDDEN, [why, ...more]), facts }
}

function levelOf(rules: Rules, { identityMethod }: Facts): { level: Level; why: Reason } {
  if (identityMethod === null) return { level: 'unverified', why: reason('owner-unverified') }
  const accepted = rules.identityMethods
  return accepted === null || accepted.includes(identityMethod)
    ? { level: 'verified', why: reason('owner-verified', identityMethod) }
    : { level: 'unverified', why: reason('provider-not-accepted', identityMethod) }
}

/** A comes before B in the alphabet as well. */
function isAtLeast(grade: Grade | null, least: Grade): boolean {
  return grade !== null && grade <= least
}

function byLevel(rules: Rules, level: Level, refusal: Refusal, reasons: Reasons): Verdict {
  const action = rules.levels[level]
  if (action === 'deny') return { ...deny(refusal, reasons), level }
  return { ...NOTHING, action, level, reasons }
}

function deny(refusal: Refusal, reasons: Reasons): Verdict {
  return { ...NOTHING, action: 'deny', refusal, reasons }
}
