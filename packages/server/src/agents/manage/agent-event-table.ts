import { sql } from 'kysely'
import type { Db, EventRow, Tx } from '../../database/database.ts'
import type { AgentEventType } from '../../database/event-table.ts'
import { prepared } from '../../database/prepared.ts'

/** SQLite uses a partial index only if the query repeats the index's condition as a constant. */
const notClaimed = sql<boolean>`type <> 'agent.claimed'`

/** Not as `owner_id = …`: SQLite would then read all events of the owner instead of those of the agent. */
const ofOwner = sql<number>`owner_id + 0`

interface EventQuery {
  readonly tail: string
  readonly ownerId: number
  readonly seq: number
  readonly before: number
  readonly limit: number
}

const selectEventsOfTail = prepared<EventQuery, EventRow>((db, param) =>
  db
    .selectFrom('events')
    .selectAll()
    .where('tail', '=', param('tail'))
    .where(notClaimed)
    .where(ofOwner, '=', param('ownerId'))
    .where('seq', '<', param('before'))
    .orderBy('seq', 'desc')
    .limit(param('limit')),
)

const selectEventsOfType = prepared<Omit<EventQuery, 'seq'> & { type: string }, EventRow>(
  (db, param) =>
    db
      .selectFrom('events')
      .selectAll()
      .where('tail', '=', param('tail'))
      .where(notClaimed)
      .where(ofOwner, '=', param('ownerId'))
      .where('type', '=', param('type'))
      .where('seq', '<', param('before'))
      .orderBy('seq', 'desc')
      .limit(param('limit')),
)

/** An agent, and one of its owners. Events are found by the owner of their time: those of another owner are nobody else's. */
export interface AgentOfOwner {
  readonly tail: string
  readonly ownerId: number
}

/**
 * An agent's events of a type other than `agent.claimed` from the time of an owner, newest first.
 * @param before only events with a lower `seq`
 */
export function eventsOfType(
  db: Db,
  { tail, ownerId }: AgentOfOwner,
  type: Exclude<AgentEventType, 'agent.claimed'>,
  before: number,
  limit: number,
): Promise<EventRow[]> {
  return selectEventsOfType(db, { tail, ownerId, type, before, limit })
}

const selectClaimEvent = prepared<EventQuery, EventRow>((db, param) =>
  db
    .selectFrom('events')
    .selectAll()
    .where('seq', '=', param('seq'))
    .where('owner_id', '=', param('ownerId'))
    .where('seq', '<', param('before')),
)

/**
 * An agent's events from the time of an owner, newest first.
 * @param agent also its `seq`, which is that of its claim's event
 * @param before only events with a lower `seq`
 */
export async function eventsOfAgent(
  db: Db,
  { tail, ownerId, seq }: AgentOfOwner & { readonly seq: number },
  before: number,
  limit: number,
): Promise<EventRow[]> {
  const query = { tail, ownerId, seq, before, limit }
  const events = await selectEventsOfTail(db, query)
  return events.length < limit ? [...events, ...(await selectClaimEvent(db, query))] : events
}

/** The events of an owner that concern no agent, oldest first. */
export function eventsOfOwner(db: Db, ownerId: number): Promise<EventRow[]> {
  return db
    .selectFrom('events')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('tail', 'is', null)
    .orderBy('seq')
    .execute()
}

/** The events of agents from the time of an owner after a `seq`, in order. */
export function agentEventsAfter(
  db: Db,
  ownerId: number,
  after: number,
  limit: number,
): Promise<EventRow[]> {
  const others = db
    .selectFrom('events')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('tail', 'is not', null)
    .where(notClaimed)
    .where('seq', '>', after)
  return claimEventsOf(db, ownerId)
    .where('agents.seq', '>', after)
    .unionAll(others)
    .orderBy('seq')
    .limit(limit)
    .execute()
}

/** The claims of the agents that an owner has, as far as they were claimed for that owner. The `seq` of an agent is that of its claim's event. */
export function claimEventsOf(db: Db, ownerId: number) {
  return db
    .selectFrom('agents')
    .innerJoin('events', 'events.seq', 'agents.seq')
    .selectAll('events')
    .where('agents.owner_id', '=', ownerId)
    .where('events.owner_id', '=', ownerId)
}

/** Erases the payloads and the owner of the events of some agents from the time of an owner. Only their types, times and agents remain. */
export async function eraseEventsOfAgents(
  tx: Tx,
  ownerId: number,
  agents: readonly { readonly tail: string; readonly seq: number }[],
): Promise<void> {
  const tails = agents.map(({ tail }) => tail)
  const claims = agents.map(({ seq }) => seq)
  const events = tx.db.updateTable('events').set(ERASED).where(ofOwner, '=', ownerId)
  await events.where('tail', 'in', tails).where(notClaimed).execute()
  await events.where('seq', 'in', claims).execute()
}

/** Erases the payloads and the owner of all events of an owner that concern no agent. */
export async function eraseEventsOfOwner(tx: Tx, ownerId: number): Promise<void> {
  await tx.db
    .updateTable('events')
    .set(ERASED)
    .where('owner_id', '=', ownerId)
    .where('tail', 'is', null)
    .execute()
}

const ERASED = { payload: '{}', owner_id: null }
