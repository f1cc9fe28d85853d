import {
  type AgentStatus,
  type Grade,
  gradeOf,
  type Identity,
  type VerificationEvidence,
} from '@countersign/protocol'

/** The verifications of an owner, as the grade uses them. */
export function evidenceOf({ verifications }: Identity): VerificationEvidence[] {
  return verifications.map(({ provider, assurance, verifiedAt, expiresAt }) => ({
    provider,
    assurance,
    verifiedAt: Date.parse(verifiedAt),
    expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
  }))
}

interface MovedAgent {
  readonly status: AgentStatus
  /** Of the strongest channel that stays verified; null: none does. */
  readonly tier: number | null
}

/** The grade of an agent with the verifications of another owner, by the same function as the service. */
export function gradeWithOwner({ status, tier }: MovedAgent, owner: Identity): Grade {
  const now = Date.now()
  const verifications = evidenceOf(owner)
  const channel = { kind: '', handleOrDomain: '', checkedAt: now, freshUntil: null } as const
  const channels = tier === null ? [] : [{ ...channel, tier: tier === 2 ? 2 : 1 } as const]
  return gradeOf({ status, verifications, channels, now }).grade
}

/** Whether an owner is verified now. */
export function isVerified(owner: Identity): boolean {
  return owner.verifications.some(({ expired }) => !expired)
}
