import type {
  Tail,
  WebhookDeliveries,
  WebhookDelivery,
  WebhookDeliveryState,
} from '@countersign/protocol'
import { didOfAgent, type Site } from '../base/site.ts'
import { timestamp } from '../base/timestamp.ts'
import type { Db } from '../database/database.ts'
import type { WebhookDeliveryRow } from '../database/schema/webhook-rows.ts'
import { deliveriesBefore, type LogPosition } from './delivery-table.ts'
import type { WebhookDeps } from './manage-endpoints.ts'
import { describeEndpoints, requireEndpoint } from './manage-endpoints.ts'

const PAGE_SIZE = 50
const MAX_EXPORTED = 100_000

/**
 * A page of the log of an endpoint, newest first.
 * @param before `next` of the page before; undefined: the first page. Any other text gives the first page too
 * @param state undefined: all
 * @throws CodedError NOT_FOUND
 */
export async function listDeliveries(
  { db, site }: Pick<WebhookDeps, 'db' | 'site'>,
  ownerId: number,
  id: string,
  { before, state }: { readonly before?: string; readonly state?: WebhookDeliveryState },
): Promise<WebhookDeliveries> {
  await requireEndpoint(db.read, ownerId, id)
  const rows = await deliveriesBefore(db.read, id, {
    before: parsePosition(before),
    state: state ?? null,
    limit: PAGE_SIZE + 1,
  })
  const page = rows.slice(0, PAGE_SIZE)
  const last = page.at(-1)
  return {
    deliveries: page.map((row) => describeDelivery(site, row)),
    next:
      rows.length > PAGE_SIZE && last !== undefined
        ? `${last.created_at}.${last.seq ?? 0}.${last.id}`
        : null,
  }
}

/** The endpoints of an owner with their logs, for the export of the account. @param at milliseconds since 1970 */
export async function exportEndpoints(db: Db, site: Site, ownerId: number, at: number) {
  const endpoints = await describeEndpoints(db, ownerId, at)
  return Promise.all(
    endpoints.map(async (endpoint) => {
      const all = { before: null, state: null, limit: MAX_EXPORTED }
      const rows = await deliveriesBefore(db, endpoint.id, all)
      return { ...endpoint, deliveries: rows.map((row) => describeDelivery(site, row)) }
    }),
  )
}

function parsePosition(before: string | undefined): LogPosition | null {
  const [, at, seq, id] = /^(\d{1,15})\.(\d{1,15})\.([\w-]{1,64})$/.exec(before ?? '') ?? []
  return id === undefined ? null : { createdAt: Number(at), seq: Number(seq), id }
}

/** A delivery as the log shows it. */
export function describeDelivery(site: Site, row: WebhookDeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    type: row.type,
    seq: row.seq,
    [site.naming.didField]: row.tail === null ? null : didOfAgent(site, row.tail as Tail),
    occurredAt: timestamp(row.at),
    state: row.state,
    attempts: row.attempts,
    lastAttemptAt: row.attempted_at === null ? null : timestamp(row.attempted_at),
    status: row.status,
    problem: row.problem,
    durationMs: row.duration_ms,
  }
}
