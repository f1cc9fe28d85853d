import type { AgentHistory, HistoryQuery } from '@countersign/protocol'
import { timestamp } from '../../base/timestamp.ts'
import type { EventRow } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { requireOwn, tailOf } from '../find-agent.ts'
import { eventsOfAgent, eventsOfType } from './agent-event-table.ts'

const PAGE_SIZE = 50

/**
 * A page of an agent's events, newest first.
 * @param reference the agent's DID or its tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function listHistory(
  { db, site }: Pick<CoreDeps, 'db' | 'site'>,
  ownerId: number,
  reference: string,
  { before, type }: HistoryQuery,
): Promise<AgentHistory> {
  const agent = await requireOwn(db.read, ownerId, tailOf(site.naming, reference))
  const start = before === undefined ? Number.MAX_SAFE_INTEGER : Number(before)
  const rows = await (type === undefined
    ? eventsOfAgent(db.read, agent, start, PAGE_SIZE + 1)
    : eventsOfType(db.read, agent.tail, type, start, PAGE_SIZE + 1))
  const page = rows.slice(0, PAGE_SIZE)
  return {
    events: page.map(describeEvent),
    next: rows.length > PAGE_SIZE ? String(page.at(-1)?.seq) : null,
  }
}

/** An event as responses show it. */
export function describeEvent({
  seq,
  at,
  type,
  payload,
}: EventRow): AgentHistory['events'][number] {
  return { seq, at: timestamp(at), type, facts: JSON.parse(payload) }
}
