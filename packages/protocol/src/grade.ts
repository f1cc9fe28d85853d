import { type AgentStatus, ASSURANCES, type Assurance } from './status.ts'

/** Incremented when the same evidence could give another grade. */
export const GRADE_POLICY_VERSION = 1

export type Grade = 'A' | 'B' | 'C' | 'D' | 'E'
export type Points = 0 | 1 | 2
/** 2: domain or agent-to-agent; 1: chat or runtime (contract 2.4). */
export type Tier = 1 | 2

/** An owner's identity verification. Times in milliseconds since 1970. */
export interface VerificationEvidence {
  readonly provider: string
  readonly assurance: Assurance
  readonly verifiedAt: number
  readonly expiresAt: number | null
}

/** A verified channel of an agent. Times in milliseconds since 1970. */
export interface ChannelEvidence {
  readonly kind: string
  readonly handleOrDomain: string
  readonly tier: Tier
  readonly checkedAt: number
  /** Until when it counts; null: no limit. */
  readonly freshUntil: number | null
}

/** The evidence for a grade. */
export interface GradeInput {
  readonly status: AgentStatus
  readonly verifications: readonly VerificationEvidence[]
  readonly channels: readonly ChannelEvidence[]
  /** Milliseconds since 1970: evidence that has expired by then does not count. */
  readonly now: number
}

/** A grade with the evidence that it follows from. */
export interface GradeResult {
  readonly policyVersion: typeof GRADE_POLICY_VERSION
  readonly grade: Grade
  readonly tier: Tier | null
  readonly gradeIsFallback: boolean
  readonly points: { readonly identity: Points; readonly reach: Points }
  readonly evidence: {
    readonly verification: VerificationEvidence | null
    readonly channel: ChannelEvidence | null
  }
  /** The next step to a better grade; null for an A, and for a certificate that is not active. */
  readonly next: { readonly grade: Grade; readonly step: string } | null
}

const LETTERS: readonly Grade[] = ['E', 'D', 'C', 'B', 'A']

/**
 * The grade of an agent: 0 to 2 points for the identity of its owner plus 0 to 2 for its channels.
 * The same input always gives the same grade, so that a relying party can recompute it.
 */
export function gradeOf(input: GradeInput): GradeResult {
  const verification = strongestVerification(input.verifications, input.now)
  const channel = strongestChannel(input.channels, input.now)
  const points = { identity: identityPoints(verification), reach: channel?.tier ?? 0 } as const
  const active = input.status === 'active'
  return {
    policyVersion: GRADE_POLICY_VERSION,
    grade: active ? letter(points.identity + points.reach) : 'E',
    tier: channel?.tier ?? null,
    gradeIsFallback: channel?.tier === 1,
    points,
    evidence: { verification, channel },
    next: active ? nextStep(points) : null,
  }
}

/** Whether a verification has not expired. @param now milliseconds since 1970 */
export function isCurrent(verification: VerificationEvidence, now: number): boolean {
  return verification.expiresAt === null || verification.expiresAt > now
}

/** Whether a channel is fresh. @param now milliseconds since 1970 */
export function isFresh(channel: ChannelEvidence, now: number): boolean {
  return channel.freshUntil === null || channel.freshUntil > now
}

/** The current verification with the highest assurance; the most recent of several. */
export function strongestVerification(
  verifications: readonly VerificationEvidence[],
  now: number,
): VerificationEvidence | null {
  let best: VerificationEvidence | null = null
  for (const each of verifications) {
    if (!isCurrent(each, now)) continue
    const gain = best === null ? 1 : rank(each.assurance) - rank(best.assurance)
    if (gain > 0 || (gain === 0 && best !== null && each.verifiedAt > best.verifiedAt)) best = each
  }
  return best
}

function strongestChannel(
  channels: readonly ChannelEvidence[],
  now: number,
): ChannelEvidence | null {
  let best: ChannelEvidence | null = null
  for (const each of channels) {
    if (!isFresh(each, now)) continue
    const gain = best === null ? 1 : each.tier - best.tier
    if (gain > 0 || (gain === 0 && best !== null && each.checkedAt > best.checkedAt)) best = each
  }
  return best
}

function rank(assurance: Assurance): number {
  return ASSURANCES.indexOf(assurance)
}

function identityPoints(verification: VerificationEvidence | null): Points {
  if (verification === null) return 0
  return verification.assurance === 'low' ? 1 : 2
}

function letter(sum: number): Grade {
  return LETTERS[sum] as Grade
}

function nextStep(points: GradeResult['points']): GradeResult['next'] {
  const { identity, reach } = points
  if (identity + reach === 4) return null
  if (reach < 2) {
    const grade = letter(identity + 2)
    return { grade, step: `Verify a domain or an agent-to-agent endpoint to reach ${grade}.` }
  }
  const grade = letter(2 + reach)
  return {
    grade,
    step: `Have the owner verify their identity with substantial assurance to reach ${grade}.`,
  }
}
