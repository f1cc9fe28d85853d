import { type AgentObject, didWebOf, encodeBase64 } from '@countersign/protocol'
import { identityLevelOf } from '../accounts/identity-of-owner.ts'
import { certificatePath, didOfAgent, type Site } from '../base/site.ts'
import { startOfDay, timestamp } from '../base/timestamp.ts'
import { type AgentProfile, type AgentView, thumbprintOf } from './agent-record.ts'
import { cardOf } from './card.ts'

/** The agent object (contract 4.7 without a special Accept header; fields in docs/contract/resources.md). */
export function agentObjectOf(site: Site, view: AgentView, now: number): AgentObject {
  const { agent, owner } = view
  const did = didOfAgent(site, agent.tail)
  const { baseUrl } = site
  return {
    ...cardOf(site, view, now),
    publicKey: encodeBase64(agent.publicKey),
    keyThumbprint: thumbprintOf(agent),
    keySequence: agent.profile.keySequence,
    keyChangedAt: timestamp(agent.profile.keyChangedAt),
    didWeb: didWebOf(site.host, did),
    identityLevel: identityLevelOf(owner, now),
    statusChangedAt: publicTime(agent.profile, agent.profile.statusChangedAt),
    statusReason: agent.profile.statusReason,
    updatedAt: publicTime(agent.profile, agent.profile.updatedAt),
    maxDelegationDepth: agent.profile.maxDelegationDepth,
    ...(agent.profile.ownerChangedAt !== undefined && {
      ownerChangedAt: timestamp(agent.profile.ownerChangedAt),
    }),
    links: {
      self: `${baseUrl}/api/agents/${did}`,
      lookup: `${baseUrl}/api/v1/agent/${did}`,
      card: `${baseUrl}/api/agents/${did}/card`,
      compactCard: `${baseUrl}/api/v1/agent/${did}/card`,
      didDocument: `${baseUrl}/agent/${did.replaceAll(':', '/')}/did.json`,
      certificate: `${baseUrl}${certificatePath(site, agent)}`,
    },
  }
}

/** Only the day, if many agents of the owner changed at once. */
function publicTime({ statusTime }: AgentProfile, at: number): string {
  return timestamp(statusTime === 'day' ? startOfDay(at) : at)
}
