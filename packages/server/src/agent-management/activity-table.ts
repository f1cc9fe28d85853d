import type { ActivityKind } from '@countersign/protocol'
import { sql } from 'kysely'
import type { AgentRow, Db, EventRow } from '../core/database/database.ts'

export interface ActivityFilter {
  readonly ownerId: number
  /** Only events with a lower `seq`. */
  readonly before: number
  /** Only events whose type starts with it. */
  readonly kind: ActivityKind | null
}

/** The events of an owner and their agents, newest first. Three indexes have them: no single one holds the claims too. */
export async function activityOfOwner(
  db: Db,
  filter: ActivityFilter,
  limit: number,
): Promise<EventRow[]> {
  const { kind } = filter
  const found = await Promise.all([
    kind === null || kind === 'agent' ? claims(db, filter, limit) : [],
    kind === 'owner' ? [] : agentEvents(db, filter, limit),
    kind === null || kind === 'owner' ? ownerEvents(db, filter, limit) : [],
  ])
  return found
    .flat()
    .sort((a, b) => b.seq - a.seq)
    .slice(0, limit)
}

/** The `seq` of an agent is that of its claim's event. */
function claims(db: Db, { ownerId, before }: ActivityFilter, limit: number): Promise<EventRow[]> {
  return db
    .selectFrom('agents')
    .innerJoin('events', 'events.seq', 'agents.seq')
    .selectAll('events')
    .where('agents.owner_id', '=', ownerId)
    .where('agents.seq', '<', before)
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
    .where('seq', '<', before)
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
    .where('seq', '<', before)
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
