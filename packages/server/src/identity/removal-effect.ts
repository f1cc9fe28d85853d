import {
  type ChannelFact,
  type Grade,
  gradeOf,
  isCurrent,
  type OwnerVerification,
  strongestVerification,
  type VerificationFact,
} from '@countersign/protocol'
import { UNVERIFIED } from '../agents/identity-of-owner.ts'

/** The channels of each of an owner's active agents. */
export type ActiveAgents = readonly (readonly ChannelFact[])[]

/** What would come of an owner's agents if they removed the verification of one provider. */
export function removalEffect(
  verifications: readonly VerificationFact[],
  provider: string,
  agents: ActiveAgents,
  now: number,
): OwnerVerification['ifRemoved'] {
  const left = verifications.filter((each) => each.provider !== provider)
  return {
    canClaim: left.some((each) => isCurrent(each, now)),
    identityLevel: strongestVerification(left, now)?.provider ?? UNVERIFIED,
    activeAgents: agents.length,
    grades: changes(agents, verifications, left, now),
  }
}

function changes(
  agents: ActiveAgents,
  before: readonly VerificationFact[],
  after: readonly VerificationFact[],
  now: number,
) {
  const counts = new Map<string, { from: Grade; to: Grade; agents: number }>()
  for (const channels of agents) {
    const [from, to] = [before, after].map(
      (verifications) => gradeOf({ status: 'active', verifications, channels, now }).grade,
    ) as [Grade, Grade]
    if (from === to) continue
    const change = counts.get(from + to) ?? { from, to, agents: 0 }
    counts.set(from + to, { ...change, agents: change.agents + 1 })
  }
  return [...counts.values()].sort((a, b) => (a.from < b.from ? -1 : 1))
}
