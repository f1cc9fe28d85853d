import type { ActivityKind } from '@countersign/protocol'
import { sql } from 'kysely'
import {
  type ActivityPosition,
  accountActivityAfter,
  accountActivityBefore,
} from '../../accounts/account-activity-table.ts'
import type { AgentRow, Db, EventRow } from '../../database/database.ts'
import type { AccountActivityRow } from '../../database/schema/notification-rows.ts'
import { claimEventsOf } from './agent-event-table.ts'

/** What is older than a position, newest first; or what is newer, oldest first, up to the event with the number `upTo`. */
type ActivityRange =
  | { readonly before: ActivityPosition }
  | { readonly after: ActivityPosition; readonly upTo: number }

export interface ActivityFilter {
  readonly ownerId: number
  readonly range: ActivityRange
  /** Only events whose type starts with it. */
  readonly kind: ActivityKind | null
}

/** An event, or an activity of the account. */
export type ActivityEntry = { readonly position: ActivityPosition } & (
  | { readonly event: EventRow }
  | { readonly activity: AccountActivityRow }
)

/**
 * The events of an owner and their agents, and the activities of the account, in the order of the range. Three indexes have the
 * events: no single one holds the claims too.
 */
export async function activityOfOwner(
  db: Db,
  filter: ActivityFilter,
  limit: number,
): Promise<ActivityEntry[]> {
  const { kind, ownerId, range } = filter
  const ofOwner = kind === null || kind === 'owner'
  const events = await Promise.all([
    kind === null || kind === 'agent' ? claims(db, filter, limit) : [],
    kind === 'owner' ? [] : agentEvents(db, filter, limit),
    ofOwner ? ownerEvents(db, filter, limit) : [],
  ])
  const activities = ofOwner ? await accountActivities(db, ownerId, range, limit) : []
  const entries: ActivityEntry[] = [
    ...events.flat().map((event) => ({ position: { seq: event.seq, id: 0 }, event })),
    ...activities.map((activity) => ({
      position: { seq: activity.after_seq, id: activity.id },
      activity,
    })),
  ]
  const sign = directionOf(range) === 'asc' ? 1 : -1
  return entries
    .sort(({ position: a }, { position: b }) => sign * (a.seq - b.seq || a.id - b.id))
    .slice(0, limit)
}

function directionOf(range: ActivityRange): 'asc' | 'desc' {
  return 'before' in range ? 'desc' : 'asc'
}

/** Whether an event is in the range. An event comes before the activities that follow it. */
function isWithin(column: 'agents.seq' | 'events.seq', range: ActivityRange) {
  const seq = sql.ref(column)
  if ('after' in range) {
    return sql<boolean>`${seq} > ${range.after.seq} and ${seq} <= ${range.upTo}`
  }
  const { before } = range
  return sql<boolean>`${seq} < ${before.id > 0 ? before.seq + 1 : before.seq}`
}

async function claims(
  db: Db,
  { ownerId, range }: ActivityFilter,
  limit: number,
): Promise<EventRow[]> {
  const [own, given] = await Promise.all([
    claimEventsOf(db, ownerId)
      .where(isWithin('agents.seq', range))
      .orderBy('agents.seq', directionOf(range))
      .limit(limit)
      .execute(),
    claimsOfGiven(db, ownerId, range, limit),
  ])
  return [...own, ...given]
}

/** The claims of agents that the owner has given away, which only the transfers tell. */
function claimsOfGiven(
  db: Db,
  ownerId: number,
  range: ActivityRange,
  limit: number,
): Promise<EventRow[]> {
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
    .where(isWithin('agents.seq', range))
    .orderBy('agents.seq', directionOf(range))
    .limit(limit)
    .execute()
}

function agentEvents(
  db: Db,
  { ownerId, range, kind }: ActivityFilter,
  limit: number,
): Promise<EventRow[]> {
  let query = db
    .selectFrom('events')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('tail', 'is not', null)
    // SQLite uses a partial index only if the query repeats the index's condition as a constant.
    .where(sql<boolean>`type <> 'agent.claimed'`)
    .where(isWithin('events.seq', range))
  if (kind !== null) query = query.where('type', 'like', `${kind}.%`)
  return query.orderBy('seq', directionOf(range)).limit(limit).execute()
}

function ownerEvents(
  db: Db,
  { ownerId, range }: ActivityFilter,
  limit: number,
): Promise<EventRow[]> {
  return db
    .selectFrom('events')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('tail', 'is', null)
    .where(isWithin('events.seq', range))
    .orderBy('seq', directionOf(range))
    .limit(limit)
    .execute()
}

function accountActivities(
  db: Db,
  ownerId: number,
  range: ActivityRange,
  limit: number,
): Promise<AccountActivityRow[]> {
  if ('before' in range) return accountActivityBefore(db, ownerId, range.before, limit)
  return accountActivityAfter(db, ownerId, range.after, range.upTo, limit)
}

/** At most a page of agents, in no particular order. */
export async function agentsByTails(db: Db, tails: readonly string[]): Promise<AgentRow[]> {
  // PostgreSQL rejects `in ()`.
  if (tails.length === 0) return []
  return db.selectFrom('agents').selectAll().where('tail', 'in', tails).execute()
}
