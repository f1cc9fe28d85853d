import {
  CodedError,
  gradeOf,
  keyThumbprint,
  type Naming,
  type OwnerAgent,
  parseDidOrTail,
  type Tail,
} from '@countersign/protocol'
import type { OwnerFacts } from '../agents/agent-record.ts'
import { agentByTail } from '../agents/agent-table.ts'
import { cardOf } from '../agents/card.ts'
import { identityLevelOf } from '../agents/identity-of-owner.ts'
import { loadOwner, loadRecord } from '../agents/read-model/rows.ts'
import type { AgentRow, Db } from '../core/database/database.ts'
import type { OwnerDeps } from '../core/deps.ts'
import type { Site } from '../core/site.ts'
import { timestamp } from '../core/timestamp.ts'

/** @throws CodedError VALIDATION_ERROR where a path names no agent by DID or tail */
export function tailOf(naming: Naming, reference: string): Tail {
  const tail = parseDidOrTail(naming, reference)
  if (tail !== null) return tail
  throw new CodedError(
    'VALIDATION_ERROR',
    `An agent is named by its DID (${naming.didPrefix} and 24 base58 characters) or by those 24 characters.`,
  )
}

/**
 * An agent of an owner. Of another owner's it says what it says of one that does not exist.
 * @throws CodedError NOT_FOUND
 */
export async function requireOwn(db: Db, ownerId: number, tail: Tail): Promise<AgentRow> {
  const row = await agentByTail(db, tail)
  if (row !== undefined && row.owner_id === ownerId) return row
  throw new CodedError('NOT_FOUND', 'You have no agent with this DID.')
}

/**
 * An agent as its owner sees it.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function showOwnAgent(
  { db, site, now }: Pick<OwnerDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
  reference: string,
): Promise<OwnerAgent> {
  const row = await requireOwn(db.read, ownerId, tailOf(site.naming, reference))
  return describeOwnAgent(db.read, site, row, await loadOwner(db.read, ownerId), now())
}

/** The card of an agent, and what is private to its owner. */
export async function describeOwnAgent(
  db: Db,
  site: Site,
  row: AgentRow,
  owner: OwnerFacts,
  now: number,
): Promise<OwnerAgent> {
  const agent = await loadRecord(db, row)
  const { profile, status } = agent
  const { verifications } = owner
  return {
    ...cardOf(site, { agent, owner }, now),
    agentId: row.agent_id,
    keyThumbprint: keyThumbprint(agent.publicKey),
    identityLevel: identityLevelOf(owner, now),
    statusReason: profile.statusReason,
    statusChangedAt: timestamp(profile.statusChangedAt),
    statusSetBy: row.status_set_by,
    updatedAt: timestamp(profile.updatedAt),
    hasAvatar: profile.avatar !== null,
    profile: {
      displayName: profile.displayName,
      username: profile.username,
      description: profile.description,
    },
    nextStep: gradeOf({ status, verifications, channels: profile.channels, now }).next,
  }
}
