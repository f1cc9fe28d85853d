import { type Card, gradeOf, isFresh } from '@countersign/protocol'
import type { AgentRecord, AgentView } from './agent-record.ts'
import { latestVerification, providerLabel } from './identity.ts'
import { certificatePath, didOfAgent, type Site } from './site.ts'
import { timestamp } from './timestamp.ts'

/** The full card (contract 2.4). */
export function cardOf(site: Site, { agent, owner }: AgentView, now: number): Card {
  const { profile } = agent
  const did = didOfAgent(site, agent.tail)
  const { verifications } = owner
  const grade = gradeOf({ status: agent.status, verifications, channels: profile.channels, now })
  const verification = latestVerification(owner, now)
  return {
    [site.naming.didField]: did,
    displayName: displayNameOf(agent),
    username: profile.username,
    description: profile.description ?? '',
    avatarUrl: `${site.baseUrl}/api/agents/${did}/avatar.svg`,
    status: agent.status,
    claimedAt: timestamp(agent.claimedAt),
    owner: { displayName: owner.displayName, username: owner.username },
    verification: verification && {
      provider: verification.provider,
      label: providerLabel(verification.provider),
      verifiedAt: timestamp(verification.verifiedAt),
    },
    channels: profile.channels
      .filter((each) => isFresh(each, now))
      .map(({ kind, handleOrDomain }) => ({ kind, handleOrDomain })),
    grade: grade.grade,
    tier: grade.tier,
    gradeIsFallback: grade.gradeIsFallback,
    certificateUrl: `${site.baseUrl}${certificatePath(site, agent)}`,
  }
}

/** The public name: what the owner chose, else the username, else a name made of the DID. */
export function displayNameOf({ tail, profile }: AgentRecord): string {
  return profile.displayName ?? profile.username ?? `Agent ${tail.slice(0, 6)}`
}
