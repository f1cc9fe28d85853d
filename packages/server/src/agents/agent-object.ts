import { type AgentObject, didWebOf, encodeBase64 } from '@countersign/protocol'
import { identityLevelOf } from '../accounts/identity-of-owner.ts'
import { certificatePath, didOfAgent, type Site } from '../base/site.ts'
import { timestamp } from '../base/timestamp.ts'
import { type AgentView, thumbprintOf } from './agent-record.ts'
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
    statusChangedAt: timestamp(agent.profile.statusChangedAt),
    statusReason: agent.profile.statusReason,
    updatedAt: timestamp(agent.profile.updatedAt),
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
