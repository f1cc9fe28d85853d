import type { AgentHistory } from '@countersign/protocol'
import { requireOwn, tailOf } from '../agents/require-own-agent.ts'
import type { EventRow } from '../core/database/database.ts'
import type { CoreDeps } from '../core/deps.ts'
import { timestamp } from '../core/timestamp.ts'
import { eventsOfAgent } from './agent-event-table.ts'

const PAGE = 50

/**
 * What happened to an agent, newest first: its own events, public facts only.
 * @param before only events with a lower number; null: from the newest on
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function listHistory(
  { db, site }: Pick<CoreDeps, 'db' | 'site'>,
  ownerId: number,
  reference: string,
  before: number | null,
): Promise<AgentHistory> {
  const agent = await requireOwn(db.read, ownerId, tailOf(site.naming, reference))
  const start = before ?? Number.MAX_SAFE_INTEGER
  const rows = await eventsOfAgent(db.read, agent, start, PAGE + 1)
  const shown = rows.slice(0, PAGE)
  return {
    events: shown.map(describeEvent),
    next: rows.length > PAGE ? String(shown.at(-1)?.seq) : null,
  }
}

/** An event as answers show it. */
export function describeEvent({ seq, at, type, facts }: EventRow): AgentHistory['events'][number] {
  return { seq, at: timestamp(at), type, facts: JSON.parse(facts) }
}
