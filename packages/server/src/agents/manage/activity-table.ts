import type { ActivityKind } from '@countersign/protocol'
import { sql } from 'kysely'
import {
  type ActivityPosition,
  accountActivityBefore,
} from '../../accounts/account-activity-table.ts'
import type { AgentRow, Db, EventRow } from '../../database/database.ts'
import type { AccountActivityRow } from '../../database/schema/notification-rows.ts'
import { claimEventsOf } from './agent-event-table.ts'

export interface ActivityFilter {
  readonly ownerId: number
  /** Only what is older. */
  readonly before: ActivityPosition
  /** Only events whose type starts with it. */
  readonly kind: ActivityKind | null
}

/** An event, or an activity of the account. */
export type ActivityEntry = { readonly position: ActivityPosition } & (
  | { readonly event: EventRow }
  | { readonly activity: AccountActivityRow }
)

/**
 * The events of an owner and their agents, and the activities of the account, newest first. Three indexes have the events: no single
 * one holds the claims too.
 */
export async function activityOfOwner(
  db: Db,
  filter: ActivityFilter,
  limit: number,
): Promise<ActivityEntry[]> {
  const { kind, ownerId, before } = filter
  const ofOwner = kind === null || kind === 'owner'
  const events = await Promise.all([
    kind === null || kind === 'agent' ? claims(db, filter, limit) : [],
    kind === 'owner' ? [] : agentEvents(db, filter, limit),
    ofOwner ? ownerEvents(db, filter, limit) : [],
  ])
  const activities = ofOwner ? await accountActivityBefore(db, ownerId, before, limit) : []
  const entries: ActivityEntry[] = [
    ...events.flat().map((event) => ({ position: { seq: event.seq, id: 0 }, event })),
    ...activities.map((activity) => ({
      position: { seq: activity.after_seq, id: activity.id },
      activity,
    })),
  ]
  return entries
    .sort(({ position: a }, { position: b }) => b.seq - a.seq || b.id - a.id)
    .slice(0, limit)
}

/** An event comes before the activities after it. @returns the `seq` that events of an older page are below */
function firstSeqAfter({ seq, id }: ActivityPosition): number {
  return id > 0 ? seq + 1 : seq
}

async function claims(
  db: Db,
  { ownerId, before }: ActivityFilter,
  limit: number,
): Promise<EventRow[]> {
  const below = firstSeqAfter(before)
  const [own, given] = await Promise.all([
    claimEventsOf(db, ownerId)
      .where('agents.seq', '<', below)
      .orderBy('agents.seq', 'desc')
      .limit(limit)
      .execute(),
    claimsOfGiven(db, ownerId, below, limit),
  ])
  return [...own, ...given]
}

/** The claims of agents that the owner has given away, which only the transfers tell. */
function claimsOfGiven(db: Db, ownerId: number, below: number, limit: number): Promise<EventRow[]> {
  const given = db
    .selectFrom('transfers')
    .innerJoin('transfer_agents', 'transfer_agents.transfer_id', 'transfers.id')
    .select('transfer_agents.tail')
    .where('transfers.from_owner', '=', ownerId)
    .where('transfers.state', '=', 'done')
  return db
    .selectFrom('agents')
    .innerJoin('events', 'events.seq', 'agents.seq')
    .selectAll('events')
    .where('agents.tail', 'in', given)
    .where('agents.owner_id', '<>', ownerId)
    .where('events.owner_id', '=', ownerId)
    .where('agents.seq', '<', below)
    .orderBy('agents.seq', 'desc')
    .limit(limit)
    .execute()
}

function agentEvents(
  db: Db,
  { ownerId, before, kind }: ActivityFilter,
  limit: number,
): Promise<EventRow[]> {
  let query = db
    .selectFrom('events')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('tail', 'is not', null)
    // SQLite uses a partial index only if the query repeats the index's condition as a constant.
    .where(sql<boolean>`type <> 'agent.claimed'`)
    .where('seq', '<', firstSeqAfter(before))
  if (kind !== null) query = query.where('type', 'like', `${kind}.%`)
  return query.orderBy('seq', 'desc').limit(limit).execute()
}

function ownerEvents(
  db: Db,
  { ownerId, before }: ActivityFilter,
  limit: number,
): Promise<EventRow[]> {
  return db
    .selectFrom('events')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('tail', 'is', null)
    .where('seq', '<', firstSeqAfter(before))
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()
}

/** At most a page of agents, in no particular order. */
export async function agentsByTails(db: Db, tails: readonly string[]): Promise<AgentRow[]> {
  // PostgreSQL rejects `in ()`.
  if (tails.length === 0) return []
  return db.selectFrom('agents').selectAll().where('tail', 'in', tails).execute()
}
