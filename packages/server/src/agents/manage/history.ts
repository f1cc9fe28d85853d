import type { AgentHistory, HistoryQuery, Tail } from '@countersign/protocol'
import { tailOf } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { AgentRow, Db, EventRow } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { agentByTail } from '../agent-table.ts'
import { noOwnAgent } from '../find-agent.ts'
import { eventsOfAgent, eventsOfType } from './agent-event-table.ts'

const PAGE_SIZE = 50
const NEWEST = Number.MAX_SAFE_INTEGER

/**
 * A page of an agent's events from the time of an owner, newest first.
 * @param reference the agent's DID or its tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function listHistory(
  { db, site }: Pick<CoreDeps, 'db' | 'site'>,
  ownerId: number,
  reference: string,
  { before, type }: HistoryQuery,
): Promise<AgentHistory> {
  const tail = tailOf(site.naming, reference)
  await requireOwnOrFormer(db.read, ownerId, tail)
  const { seq } = (await agentByTail(db.read, tail)) as AgentRow
  const agent = { tail, seq, ownerId }
  const start = before === undefined ? NEWEST : Number(before)
  const rows = await (type === undefined
    ? eventsOfAgent(db.read, agent, start, PAGE_SIZE + 1)
    : eventsOfType(db.read, agent, type, start, PAGE_SIZE + 1))
  const page = rows.slice(0, PAGE_SIZE)
  return {
    events: page.map(describeEvent),
    next: rows.length > PAGE_SIZE ? String(page.at(-1)?.seq) : null,
  }
}

/**
 * Whether an agent is an owner's. Who has given it away still reads what was theirs.
 * @throws CodedError NOT_FOUND if it never was theirs
 */
export async function requireOwnOrFormer(db: Db, ownerId: number, tail: Tail): Promise<boolean> {
  const row = await agentByTail(db, tail)
  if (row?.owner_id === ownerId) return true
  const released = await eventsOfType(db, { tail, ownerId }, 'agent.released', NEWEST, 1)
  if (row !== undefined && released.length > 0) return false
  throw noOwnAgent()
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
