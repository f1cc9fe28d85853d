import { sql } from 'kysely'
import type { Db, EventRow, Tx } from '../../database/database.ts'
import type { AgentEventType } from '../../database/event-table.ts'
import { prepared } from '../../database/prepared.ts'

/** SQLite uses a partial index only if the query repeats the index's condition as a constant. */
const notClaimed = sql<boolean>`type <> 'agent.claimed'`

interface EventQuery {
  readonly tail: string
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
      .where('type', '=', param('type'))
      .where('seq', '<', param('before'))
      .orderBy('seq', 'desc')
      .limit(param('limit')),
)

/** An agent's events of a type other than `agent.claimed`, newest first. @param before only events with a lower `seq` */
export function eventsOfType(
  db: Db,
  tail: string,
  type: Exclude<AgentEventType, 'agent.claimed'>,
  before: number,
  limit: number,
): Promise<EventRow[]> {
  return selectEventsOfType(db, { tail, type, before, limit })
}

const selectClaimEvent = prepared<EventQuery, EventRow>((db, param) =>
  db
    .selectFrom('events')
    .selectAll()
    .where('seq', '=', param('seq'))
    .where('seq', '<', param('before')),
)

/**
 * An agent's events, newest first.
 * @param agent its tail, and its `seq`, which is that of its claim's event
 * @param before only events with a lower `seq`
 */
export async function eventsOfAgent(
  db: Db,
  agent: { readonly tail: string; readonly seq: number },
  before: number,
  limit: number,
): Promise<EventRow[]> {
  const query = { tail: agent.tail, seq: agent.seq, before, limit }
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

/** The events of an owner's agents after a `seq`, in order. */
export function agentEventsAfter(
  db: Db,
  ownerId: number,
  after: number,
  limit: number,
): Promise<EventRow[]> {
  const claims = db
    .selectFrom('agents')
    .innerJoin('events', 'events.seq', 'agents.seq')
    .selectAll('events')
    .where('agents.owner_id', '=', ownerId)
    .where('agents.seq', '>', after)
  const others = db
    .selectFrom('agents')
    .innerJoin('events', 'events.tail', 'agents.tail')
    .selectAll('events')
    .where(sql<boolean>`events.type <> 'agent.claimed'`)
    .where('agents.owner_id', '=', ownerId)
    .where('agents.version', '>', after)
    .where('events.seq', '>', after)
  return claims.unionAll(others).orderBy('seq').limit(limit).execute()
}

/** Erases the payloads and the owner of all events of some agents. Only their types, times and agents remain. */
export async function eraseEventsOfAgents(
  tx: Tx,
  agents: readonly { readonly tail: string; readonly seq: number }[],
): Promise<void> {
  const tails = agents.map(({ tail }) => tail)
  const claims = agents.map(({ seq }) => seq)
  const events = tx.db.updateTable('events').set(ERASED)
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
