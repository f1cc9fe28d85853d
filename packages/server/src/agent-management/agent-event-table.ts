import { sql } from 'kysely'
import type { Db, EventRow, Tx } from '../core/database/database.ts'
import { prepared } from '../core/database/prepared.ts'

/** As the index has it: SQLite uses a partial index where the query says the same, and in a constant. */
const notClaimed = sql<boolean>`type <> 'agent.claimed'`

interface EventsBefore {
  readonly tail: string
  readonly seq: number
  readonly before: number
  readonly limit: number
}

const selectOfAgent = prepared<EventsBefore, EventRow>((db, param) =>
  db
    .selectFrom('events')
    .selectAll()
    .where('tail', '=', param('tail'))
    .where(notClaimed)
    .where('seq', '<', param('before'))
    .orderBy('seq', 'desc')
    .limit(param('limit')),
)

const selectOne = prepared<EventsBefore, EventRow>((db, param) =>
  db
    .selectFrom('events')
    .selectAll()
    .where('seq', '=', param('seq'))
    .where('seq', '<', param('before')),
)

/**
 * What happened to an agent, newest first.
 * @param agent its tail, and its number, which is that of its claim's event
 */
export async function eventsOfAgent(
  db: Db,
  agent: { readonly tail: string; readonly seq: number },
  before: number,
  limit: number,
): Promise<EventRow[]> {
  const wanted = { tail: agent.tail, seq: agent.seq, before, limit }
  const events = await selectOfAgent(db, wanted)
  return events.length < limit ? [...events, ...(await selectOne(db, wanted))] : events
}

/** What happened to an owner rather than to one agent, oldest first. */
export function eventsOfOwner(db: Db, ownerId: number): Promise<EventRow[]> {
  return db
    .selectFrom('events')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('tail', 'is', null)
    .orderBy('seq')
    .execute()
}

/** The events of an owner's agents after a number, in order. */
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

/** What owners wrote, and where their agents were reached. */
const IDENTIFYING_EVENT_TYPES = [
  'agent.updated',
  'channel.verified',
  'channel.stale',
  'channel.removed',
] as const

/** Takes what says who an owner was out of the events that told of it; that there was a change remains. */
export async function erasePayloads(tx: Tx, ownerId: number): Promise<void> {
  const erased = { facts: JSON.stringify({ erased: true }) }
  const tails = tx.db.selectFrom('agents').select('tail').where('owner_id', '=', ownerId)
  await tx.db
    .updateTable('events')
    .set(erased)
    .where('tail', 'in', tails)
    .where(notClaimed)
    .where('type', 'in', IDENTIFYING_EVENT_TYPES)
    .execute()
  await tx.db
    .updateTable('events')
    .set(erased)
    .where('owner_id', '=', ownerId)
    .where('tail', 'is', null)
    .where('type', '=', 'owner.updated')
    .execute()
}
