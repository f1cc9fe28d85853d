import { type Activity, type ActivityQuery, didOf, type Naming } from '@countersign/protocol'
import { displayNameOf } from '../agents/card.ts'
import type { AgentRow, EventRow } from '../core/database/database.ts'
import type { CoreDeps } from '../core/deps.ts'
import { activityOfOwner, agentsByTails } from './activity-table.ts'
import { describeEvent } from './history.ts'

const PAGE_SIZE = 50

/** A page of the events of an owner's account and of all their agents, newest first. */
export async function listActivity(
  { db, site }: Pick<CoreDeps, 'db' | 'site'>,
  ownerId: number,
  { kind, before }: ActivityQuery,
): Promise<Activity> {
  const start = before === undefined ? Number.MAX_SAFE_INTEGER : Number(before)
  const filter = { ownerId, before: start, kind: kind ?? null }
  const found = await activityOfOwner(db.read, filter, PAGE_SIZE + 1)
  const page = found.slice(0, PAGE_SIZE)
  const agents = await agentsOf(db.read, page)
  return {
    events: page.map((event) => ({
      ...describeEvent(event),
      agent: describeAgent(site.naming, event.tail === null ? undefined : agents.get(event.tail)),
    })),
    next: found.length > PAGE_SIZE ? String(page.at(-1)?.seq) : null,
  }
}

async function agentsOf(
  db: Parameters<typeof agentsByTails>[0],
  events: readonly EventRow[],
): Promise<Map<string, AgentRow>> {
  const tails = new Set(events.flatMap(({ tail }) => (tail === null ? [] : [tail])))
  const rows = await agentsByTails(db, [...tails])
  return new Map(rows.map((row) => [row.tail, row]))
}

function describeAgent(
  naming: Naming,
  row: AgentRow | undefined,
): Activity['events'][number]['agent'] {
  if (row === undefined) return null
  const { tail, status, display_name: displayName, username } = row
  return {
    [naming.didField]: didOf(naming, tail as Parameters<typeof didOf>[1]),
    displayName: displayNameOf({ tail, profile: { displayName, username } }),
    status,
  }
}
