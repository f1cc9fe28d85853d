import {
  type ApprovalFault,
  approvalAgeFault,
  type Delegation,
  type FoundApproval,
  isAcceptedBy,
  tokenHeadersOf,
} from '@countersign/protocol'
import type { Grade } from '@countersign/sdk'
import type { Level, Rules } from '../policy/policy.ts'
import {
  type Action,
  type AgentData,
  type CertificateFault,
  type LogState,
  type Proof,
  REFUSAL_CODES,
  type Refusal,
} from './decision.ts'
import { type Reason, reason } from './reasons.ts'

/** The agent that a request identifies, if any. */
export type Caller =
  | { readonly kind: 'none' | 'unreadable' | 'conflict' }
  /** It never counts as the agent that its header or session names. */
  | { readonly kind: 'signature-invalid'; readonly status: 400 | 401 | 403 }
  /** It signed with a key of a directory that the policy lists. */
  | { readonly kind: 'directory'; readonly url: string }
  /** The agent of the session has changed its key since it signed in. */
  | { readonly kind: 'session-ended' }
  /** The certificate that it sent with its signature does not count. */
  | { readonly kind: CertificateFault }
  /** It sent a chain of delegations that the gateway cannot accept, that does not allow the request, or whose signature is not proven. */
  | { readonly kind: 'delegation-refused' | 'delegation-limit' | 'delegation-unproven' }
  | {
      readonly kind: 'named'
      readonly did: string
      readonly proof: Proof
      /** The proven chain of a delegate of this agent. Absent for the agent itself. */
      readonly delegation?: Delegation | undefined
      /** Absent unless a rule that may apply requires an approval, and the request is signed. */
      readonly approval?: CarriedApproval | undefined
    }

/** The approval of a signed request, or why there is none that counts. `now`: when it was read, in milliseconds since 1970. */
export type CarriedApproval =
  | { readonly fault: ApprovalFault }
  | { readonly fault: null; readonly found: FoundApproval; readonly now: number }

/** The result of looking an agent up. `agent` is null if the service does not know it. */
export type LookupResult =
  | { readonly kind: 'answered'; readonly agent: AgentData | null }
  | {
      readonly kind: 'unreachable'
      /** The last answer of the service, if one is cached. */
      readonly last: { readonly agent: AgentData | null; readonly ageSeconds: number } | null
      /** Whether the agent was restricted after that: then no rule admits it. */
      readonly restricted?: boolean
    }

/** Whether nothing that a decision about an agent depends on can change while its key stays. */
export function isLogFinal(lookup: LookupResult | null): boolean {
  const agent = lookup?.kind === 'answered' ? lookup.agent : null
  return [...(agent?.logged?.values() ?? [])].every((state) => state === 'logged')
}

/** The result of evaluating the rules, before the rate limit is applied. */
export interface Verdict {
  readonly action: Action
  readonly level: Level | null
  readonly reasons: readonly [Reason, ...Reason[]]
  readonly refusal: Refusal | null
  /** The data that the verdict is based on; null if there is none. */
  readonly agent: AgentData | null
  /** The age of the data if they are older than the policy allows while the service is reachable, rounded; else null. */
  readonly staleSeconds: number | null
}

/**
 * Evaluates the rules. A pure function that never throws.
 * The order: identification (callers without a DID are decided by their level alone), deny list, delegation, reachability of the service, existence of the agent, status, proof of
 * possession, age of the key, time since the transfer, transparency log, approval, allow list, grade, level.
 * @param header the name of the identification header, used in messages
 * @param result null if the request names no agent
 */
export function decide(
  rules: Rules,
  header: string,
  caller: Caller,
  result: LookupResult | null,
): Verdict {
  if (caller.kind === 'none') {
    return byLevel(rules, 'none', 401, [reason('no-identification', header)])
  }
  if (caller.kind === 'signature-invalid') {
    const { status } = caller
    const refused = status === 400 ? refusalOf(status) : customRefusal(rules, status)
    return deny(refused, [reason('signature-invalid')])
  }
  if (caller.kind === 'directory') {
    return byLevel(rules, 'directory', 403, [reason('directory-signed', caller.url)])
  }
  if (caller.kind === 'session-ended') {
    return deny(customRefusal(rules, 401), [reason('session-ended')])
  }
  if (isCertificateFault(caller.kind)) {
    return deny(customRefusal(rules, 401), [reason(caller.kind)])
  }
  if (caller.kind === 'delegation-unproven') {
    return deny(customRefusal(rules, 401), [reason(caller.kind)])
  }
  if (caller.kind === 'delegation-refused' || caller.kind === 'delegation-limit') {
    return deny(customRefusal(rules, 403), [reason(caller.kind)])
  }
  if (caller.kind !== 'named') {
    const code = `identification-${caller.kind}` as const
    return byLevel(rules, 'unknown', 401, [reason(code, header)])
  }
  const proof = proofReason(caller.proof, header)
  const named = { ...caller, header }
  if (rules.deny.includes(caller.did))
    return deny(customRefusal(rules, 403), [reason('deny-list'), proof])
  if (!acceptsDelegation(rules, caller.delegation)) {
    return deny(customRefusal(rules, 403), [reason('delegation-refused'), proof])
  }
  if (result?.kind === 'answered') {
    return decideForAgent(rules, named, result.agent, [proof])
  }
  if (result?.restricted) return deny(UNAVAILABLE, [reason('service-unreachable'), proof])
  const last = result?.last ?? null
  if (rules.unreachable === 'stale' && last !== null && last.ageSeconds <= rules.maxStaleSeconds) {
    const staleSeconds = Math.round(last.ageSeconds)
    const age = reason('answer-stale', staleSeconds)
    return { ...decideForAgent(rules, named, last.agent, [age, proof]), staleSeconds }
  }
  return withoutAnswer(rules, [reason('service-unreachable'), proof])
}

/** Nothing replaces an approval: with it, the status of the agent has to be known. */
function withoutAnswer(
  { unreachable, approval }: Pick<Rules, 'unreachable' | 'approval'>,
  reasons: Reasons,
): Verdict {
  if (approval === null && (unreachable === 'flag' || unreachable === 'allow')) {
    return { ...EMPTY_VERDICT, action: unreachable, reasons }
  }
  return deny(UNAVAILABLE, reasons)
}

function acceptsDelegation({ delegation: policy }: Rules, delegation?: Delegation): boolean {
  if (delegation === undefined) return true
  return policy !== null && isAcceptedBy(policy, delegation.hops)
}

function isCertificateFault(kind: Caller['kind']): kind is CertificateFault {
  return kind.startsWith('certificate-')
}

function proofReason(proof: Proof, header: string): Reason {
  if (proof === 'signature') return reason('signature-proven')
  return proof === 'session' ? reason('session-proven') : reason('header-only', header)
}

/** The verdict if the gateway itself fails: the same as for an unreachable service without a cached answer. */
export function failureVerdict(rules: Pick<Rules, 'unreachable' | 'approval'>): Verdict {
  return withoutAnswer(rules, [reason('gateway-failed')])
}

/** The strictest of several verdicts, at least one. Used if it is ambiguous which rules apply to a request. */
export function strictest(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce((a, b) => (STRICTNESS[b.action] > STRICTNESS[a.action] ? b : a))
}

const STRICTNESS: Readonly<Record<Action, number>> = { allow: 0, flag: 1, limit: 2, deny: 3 }
const EMPTY_VERDICT = { level: null, refusal: null, agent: null, staleSeconds: null } as const

const UNAVAILABLE = refusalOf(503, 5)

/** For a CORS preflight that the policy lets pass. */
export const PREFLIGHT: Verdict = {
  ...EMPTY_VERDICT,
  action: 'allow',
  reasons: [reason('preflight')],
}

/** A refusal that the policy does not change. */
export function refusalOf(
  status: Refusal['status'],
  retryAfterSeconds: number | null = null,
): Refusal {
  return { status, code: REFUSAL_CODES[status], message: null, retryAfterSeconds }
}

/** A refusal with the status and message that the rules set. */
export function customRefusal({ refusal }: Pick<Rules, 'refusal'>, status: 401 | 403): Refusal {
  const { message = null, status: chosen = status } = refusal ?? {}
  return { ...refusalOf(chosen), message }
}

type Reasons = readonly [Reason, ...Reason[]]

/** A caller that names an agent, and the name of the identification header. */
type Named = Extract<Caller, { kind: 'named' }> & { readonly header: string }

function decideForAgent(
  rules: Rules,
  caller: Named,
  agent: AgentData | null,
  more: readonly Reason[],
): Verdict {
  if (agent === null) return byLevel(rules, 'unknown', 403, [reason('agent-unknown'), ...more])
  const { status } = agent
  const refuse = (refusalStatus: 401 | 403, why: Reason): Verdict => ({
    ...deny(customRefusal(rules, refusalStatus), [why, ...more]),
    agent,
  })
  if (!rules.statuses.includes(status)) return refuse(403, reason('status-refused', status))
  const { proof } = caller
  if (rules.approval !== null ? proof !== 'signature' : rules.requireProof && proof === 'none') {
    return refuse(401, reason('proof-required', rules.approval !== null))
  }
  const keyAge = Math.max(0, Math.floor(agent.keyAgeSeconds ?? 0))
  if (keyAge < rules.minimumKeyAgeSeconds) {
    return refuse(403, reason('key-too-young', keyAge, rules.minimumKeyAgeSeconds))
  }
  const { ownerAgeSeconds = 0 } = agent
  const ownerAge = ownerAgeSeconds === null ? null : Math.max(0, Math.floor(ownerAgeSeconds))
  if (ownerAge !== null && ownerAge < rules.minimumOwnerAgeSeconds) {
    return refuse(403, reason('owner-too-new', ownerAge, rules.minimumOwnerAgeSeconds))
  }
  const log = logStateOf(rules, agent)
  if (log === 'logged') return decideForLoggedAgent(rules, caller, agent, more)
  if (log !== 'log-unavailable') return refuse(403, reason(log))
  return decideWithoutLog(rules, caller, agent, more)
}

/** Why the approval of a signed request does not count by these rules (docs/approvals.md, steps b to e). */
function approvalFault({ approval: policy }: Rules, { approval }: Named) {
  if (policy === null) return null
  if (approval === undefined) return 'approval-required'
  if (approval.fault !== null) return approval.fault
  return approvalAgeFault(approval.found.approval, policy, approval.now)
}

function logStateOf({ requireLogged }: Rules, { logged }: AgentData): LogState {
  if (requireLogged === null) return 'logged'
  return logged?.get(requireLogged.policy) ?? 'log-unavailable'
}

/** The same actions as for an unreachable service, except that what is known of the agent still counts. */
function decideWithoutLog(
  rules: Rules,
  caller: Named,
  agent: AgentData,
  more: readonly Reason[],
): Verdict {
  const why = reason('log-unavailable')
  if (rules.unreachable !== 'flag' && rules.unreachable !== 'allow') {
    return { ...deny(UNAVAILABLE, [why, ...more]), agent }
  }
  const verdict = decideForLoggedAgent(rules, caller, agent, more)
  if (verdict.action === 'deny') return verdict
  const isFlagged = verdict.action === 'allow' && rules.unreachable === 'flag'
  const action = isFlagged ? 'flag' : verdict.action
  return { ...verdict, action, reasons: [why, ...verdict.reasons] }
}

/** What remains after the checks that the allow list does not override. */
function decideForLoggedAgent(
  rules: Rules,
  caller: Named,
  agent: AgentData,
  more: readonly Reason[],
): Verdict {
  const fault = approvalFault(rules, caller)
  if (fault === 'directory-unavailable') {
    return { ...deny(UNAVAILABLE, [reason('service-unreachable'), ...more]), agent }
  }
  if (fault !== null) {
    const why =
      fault === 'approval-required'
        ? reason(fault, tokenHeadersOf(caller.header).approval)
        : reason(fault)
    return { ...deny(customRefusal(rules, 403), [why, ...more]), agent }
  }
  if (rules.allow.includes(agent.did)) {
    return { ...EMPTY_VERDICT, action: 'allow', reasons: [reason('allow-list'), ...more], agent }
  }
  const { grade } = agent
  const minimum = rules.minimumGrade
  if (minimum !== null && !isAtLeast(grade, minimum)) {
    const why =
      grade === null ? reason('grade-unknown', minimum) : reason('grade-too-low', grade, minimum)
    return { ...deny(customRefusal(rules, 403), [why, ...more]), agent }
  }
  const { level, why } = levelOf(rules, agent)
  return { ...byLevel(rules, level, 403, [why, ...more]), agent }
}

function levelOf(rules: Rules, { identityMethod }: AgentData): { level: Level; why: Reason } {
  if (identityMethod === null) return { level: 'unverified', why: reason('owner-unverified') }
  const accepted = rules.identityMethods
  return accepted === null || accepted.includes(identityMethod)
    ? { level: 'verified', why: reason('owner-verified', identityMethod) }
    : { level: 'unverified', why: reason('provider-not-accepted', identityMethod) }
}

/** Grades compare as strings: `A`, the best, sorts first. */
function isAtLeast(grade: Grade | null, minimum: Grade): boolean {
  return grade !== null && grade <= minimum
}

function byLevel(rules: Rules, level: Level, status: 401 | 403, reasons: Reasons): Verdict {
  // Only agents have owners who approve.
  const isAgent = level === 'verified' || level === 'unverified'
  const action = rules.approval === null || isAgent ? rules.levels[level] : 'deny'
  if (action === 'deny') return { ...deny(customRefusal(rules, status), reasons), level }
  return { ...EMPTY_VERDICT, action, level, reasons }
}

function deny(refusal: Refusal, reasons: Reasons): Verdict {
  return { ...EMPTY_VERDICT, action: 'deny', refusal, reasons }
}
