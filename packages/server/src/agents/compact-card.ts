import { type CompactCard, isFresh } from '@countersign/protocol'
import { certificatePath, type Site } from '../core/site.ts'
import type { AgentRecord, AgentView } from './agent-record.ts'
import { displayNameOf } from './card.ts'
import { identityMethodOf } from './identity-of-owner.ts'

/** The compact card always names an owner. */
const DELETED_OWNER = { displayName: 'Deleted owner', username: '' }

/** The compact card (contract 2.5). */
export function compactCardOf(site: Site, view: AgentView, now: number): CompactCard {
  const { agent, owner } = view
  const { displayName, username } = owner
  return {
    displayName: displayNameOf(agent),
    owner: owner.deleted ? DELETED_OWNER : { displayName, username },
    verificationStatus: verificationStatus(view, now),
    chatHandle: `@${chatName(site, agent, now).replace(/^@/, '')}`,
    certificateUrl: `${site.baseUrl}${certificatePath(site, agent)}`,
  }
}

function verificationStatus(
  { agent, owner }: AgentView,
  now: number,
): CompactCard['verificationStatus'] {
  if (agent.status !== 'active') return 'unverified'
  return identityMethodOf(owner, now) === null ? 'claim' : 'verified'
}

function chatName({ channelKinds }: Site, { tail, profile }: AgentRecord, now: number): string {
  const chat = profile.channels.find(
    (each) => channelKinds.get(each.kind)?.chat === true && isFresh(each, now),
  )
  return chat?.handleOrDomain ?? profile.username ?? tail
}
