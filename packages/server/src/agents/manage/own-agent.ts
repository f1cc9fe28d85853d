import { gradeOf, type OwnerAgent } from '@countersign/protocol'
import { identityLevelOf } from '../../accounts/identity-of-owner.ts'
import type { MemberNames } from '../../accounts/organisations/membership-table.ts'
import { type Site, tailOf } from '../../base/site.ts'
import { timestamp, timestampOrNull } from '../../base/timestamp.ts'
import type { AgentRow, Db } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { type OwnerRecord, thumbprintOf } from '../agent-record.ts'
import { cardOf } from '../card.ts'
import { describeEnrolment } from '../enrolment/enrolment-of-agent.ts'
import { requireOwn } from '../find-agent.ts'
import { loadOwner, loadRecord } from '../read-model/rows.ts'
import { responsiblePersons } from '../responsible/responsible-person.ts'

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
  const owner = await loadOwner(db.read, ownerId)
  const persons = await responsiblePersons(db.read, [row])
  return describeOwnAgent(db.read, site, row, { owner, persons }, now())
}

/** Whose an agent is. */
interface AgentOwner {
  readonly owner: OwnerRecord
  /** From `responsiblePersons`. */
  readonly persons: MemberNames
}

/**
 * The card of an agent with the fields that only its owner sees.
 * @param now milliseconds since the Unix epoch
 */
export async function describeOwnAgent(
  db: Db,
  site: Site,
  row: AgentRow,
  { owner, persons }: AgentOwner,
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
    approvalsEnabled: row.approvals === 1,
    ownerChangedAt: timestampOrNull(profile.ownerChangedAt ?? null),
    hasAvatar: profile.avatar !== null,
    profile: {
      displayName: profile.displayName,
      username: profile.username,
      description: profile.description,
    },
    responsible: persons.get(row.responsible ?? '') ?? null,
    enrolment: await describeEnrolment(db, row.tail),
    nextStep: gradeOf({ status, verifications, channels: profile.channels, now }).next,
  }
}
