import { type Activity, type ActivityQuery, didOf, type Naming } from '@countersign/protocol'
import { parsePosition, positionText } from '../../accounts/event-uid.ts'
import { providerLabel } from '../../accounts/identity-of-owner.ts'
import type { Site } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { AgentRow, EventRow } from '../../database/database.ts'
import type { AccountActivityRow } from '../../database/schema/notification-rows.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { displayNameOf } from '../card.ts'
import { type ActivityEntry, activityOfOwner, agentsByTails } from './activity-table.ts'
import { describeEvent } from './history.ts'

const PAGE_SIZE = 50
const NEWEST = { seq: Number.MAX_SAFE_INTEGER, id: 0 }

/** A page of the events of an owner's account and of all their agents, newest first. */
export async function listActivity(
  deps: Pick<CoreDeps, 'db' | 'site'>,
  ownerId: number,
  { kind, before }: ActivityQuery,
): Promise<Activity> {
  const start = before === undefined ? NEWEST : parsePosition(before)
  const filter = { ownerId, range: { before: start }, kind: kind ?? null }
  const found = await activityOfOwner(deps.db.read, filter, PAGE_SIZE + 1)
  const page = found.slice(0, PAGE_SIZE)
  const last = page.at(-1)
  return {
    events: await describeEntries(deps, page),
    next: found.length > PAGE_SIZE && last !== undefined ? positionText(last.position) : null,
  }
}

/** Events and activities as responses show them, in their order. */
export async function describeEntries(
  { db, site }: Pick<CoreDeps, 'db' | 'site'>,
  entries: readonly ActivityEntry[],
): Promise<Activity['events']> {
  const agents = await agentsOf(
    db.read,
    entries.flatMap((entry) => ('event' in entry ? [entry.event] : [])),
  )
  return entries.map((entry) => {
    const id = positionText(entry.position)
    if ('activity' in entry) {
      const described = describeAccountActivity(entry.activity)
      const label = providerLabelIn(described.facts, site)
      return { id, seq: null, ...described, providerLabel: label, agent: null }
    }
    const { tail } = entry.event
    const agent = describeAgent(site.naming, tail === null ? undefined : agents.get(tail))
    const described = describeEvent(entry.event)
    return { id, ...described, providerLabel: providerLabelIn(described.facts, site), agent }
  })
}

/** An activity as responses show it: like an event, but without a number among all events. */
export function describeAccountActivity({ at, type, details }: AccountActivityRow) {
  return { at: timestamp(at), type, facts: JSON.parse(details) as Record<string, unknown> }
}

/** Computed for each response: an operator can rename a provider. */
function providerLabelIn({ provider }: Readonly<Record<string, unknown>>, site: Site) {
  return typeof provider === 'string' ? providerLabel(site, provider) : null
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
