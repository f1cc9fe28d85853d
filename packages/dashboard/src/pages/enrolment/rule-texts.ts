import type { EnrolmentRule } from '@countersign/protocol'

/** The docs say it in the same words. */
export const WHO_CAN_ENROL =
  'Everybody who can edit the workflow, the service account or the cluster can enrol.'

/** Whether a rule admits workloads now, and why not. */
export type RuleState = 'active' | 'paused' | 'forgotten' | 'keys'

/** @param now milliseconds since 1970 */
export function stateOf(
  { state, admitsUntil, keysProblem }: EnrolmentRule,
  now: number,
): RuleState {
  if (state === 'paused') return 'paused'
  if (Date.parse(admitsUntil) < now) return 'forgotten'
  return keysProblem === null ? 'active' : 'keys'
}

/** Why a workload was refused, by the check of `lastRefusal`, to end a sentence. */
const REFUSALS: Readonly<Record<string, string>> = {
  format: 'the token is malformed',
  header: 'the header of the token is not accepted',
  issuer: 'the token has another issuer',
  audience: 'the token has another audience',
  expired: 'the token had expired',
  times: 'the token is valid for too long, or not yet',
  'unknown-key': 'the issuer has no such key',
  signature: 'the signature of the token does not verify',
  claim: 'a claim does not match',
  'keys-unreadable': 'the keys of the issuer could not be read',
  'token-reused': 'the token was used with another key',
  key: 'another agent has the key',
  status: 'the agent is suspended',
  identity: 'there was no current identity verification',
  full: 'the limit of agents is reached',
  rate: 'too many new agents were enrolled within an hour',
}

export function refusalText(check: string): string {
  return REFUSALS[check] ?? `the check ${check} failed`
}

export function agentCount(count: number): string {
  return count === 1 ? '1 agent' : `${count.toLocaleString('en')} agents`
}

/** Such as `1 day` or `90 minutes`. */
export function durationText(seconds: number): string {
  const unit = UNITS.find(([, length]) => seconds % length === 0) ?? (['second', 1] as const)
  const count = seconds / unit[1]
  return count === 1 ? `1 ${unit[0]}` : `${count.toLocaleString('en')} ${unit[0]}s`
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** Whose tokens a rule accepts. */
export function sourceOf({ issuer, trustDomain }: EnrolmentRule): string {
  return trustDomain === null ? (issuer ?? '') : `spiffe://${trustDomain}`
}
