import { gradeOf, type OwnerAgent } from '@countersign/protocol'
import { identityLevelOf } from '../../accounts/identity-of-owner.ts'
import type { Site } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { AgentRow, Db } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { type OwnerRecord, thumbprintOf } from '../agent-record.ts'
import { cardOf } from '../card.ts'
import { requireOwn, tailOf } from '../find-agent.ts'
import { loadOwner, loadRecord } from '../read-model/rows.ts'

/**
 * An agent as its owner sees it.
 * @param reference the agent's DID or its tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function getOwnAgent(
  { db, site, now }: Pick<CoreDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
  reference: string,
): Promise<OwnerAgent> {
  const row = await requireOwn(db.read, ownerId, tailOf(site.naming, reference))
  return describeOwnAgent(db.read, site, row, await loadOwner(db.read, ownerId), now())
}

/**
 * The card of an agent with the fields that only its owner sees.
 * @param now milliseconds since the Unix epoch
 */
export async function describeOwnAgent(
  db: Db,
  site: Site,
  row: AgentRow,
  owner: OwnerRecord,
  now: number,
): Promise<OwnerAgent> {
  const agent = await loadRecord(db, row)
  const { profile, status } = agent
  const { verifications } = owner
  return {
    ...cardOf(site, { agent, owner }, now),
    agentId: row.agent_id,
    keyThumbprint: thumbprintOf(agent),
    identityLevel: identityLevelOf(owner, now),
    statusReason: profile.statusReason,
    statusChangedAt: timestamp(profile.statusChangedAt),
    statusSetBy: row.status_set_by,
    updatedAt: timestamp(profile.updatedAt),
    maxDelegationDepth: profile.maxDelegationDepth,
    hasAvatar: profile.avatar !== null,
    profile: {
      displayName: profile.displayName,
      username: profile.username,
      description: profile.description,
    },
    nextStep: gradeOf({ status, verifications, channels: profile.channels, now }).next,
  }
}
