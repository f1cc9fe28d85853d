import type { Lookup } from '@countersign/protocol'
import type { AgentView } from './agent-record.ts'
import { identityMethodOf } from './identity.ts'
import { certificatePath, didOfAgent, type Site } from './site.ts'
import { timestamp } from './timestamp.ts'

/** The answer to a lookup (contract 4.1). */
export function lookupOf(site: Site, { agent, owner }: AgentView, now: number): Lookup {
  const identityMethod = identityMethodOf(owner, now)
  return {
    verified: agent.status === 'active',
    owner: {
      identityMethod,
      identityLevel: identityMethod === null ? 'unverified' : 'verified',
      claimedAt: timestamp(agent.claimedAt),
    },
    certificate: {
      id: didOfAgent(site, agent.tail),
      status: agent.status,
      verifyUrl: certificatePath(site, agent),
    },
  }
}
