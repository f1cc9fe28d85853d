import { WEBHOOK_EVENT_TYPES } from '@countersign/protocol'
import type { Database, EventRow, Tx } from '../database/database.ts'
import { eventsAfter, lastSeq } from '../database/event-table.ts'
import type { WebhookEndpointRow } from '../database/schema/webhook-rows.ts'
import { readSetting, writeSetting } from '../database/settings-table.ts'
import { insertDeliveries, isBacklogAbove, type NewDelivery } from './delivery-table.ts'
import { disable } from './disable.ts'
import { isAnyListening, listeningEndpoints } from './endpoint-table.ts'
import { isSetEvent } from './security-event-token.ts'
import { deliveryId } from './signatures.ts'

/**
 * The setting with the number of the last event whose deliveries are queued. One for all endpoints: with one each, every event
 * would change the rows of all of them.
 */
const POSITION = 'webhook_position'
const BATCH_SIZE = 500
/** An endpoint for which more deliveries wait is disabled. */
const MAX_BACKLOG = 100_000

const DELIVERED_TYPES: ReadonlySet<string> = new Set(WEBHOOK_EVENT_TYPES)

/**
 * Queues the deliveries of new events. Claims and other changes do not wait for it: it follows the events that they append.
 * Of several nodes, the one that moves the position queues a batch.
 * @param maxBacklog smaller in tests
 * @returns whether there may be more
 */
export async function fanOut(
  { db, now }: { readonly db: Database; readonly now: () => number },
  maxBacklog = MAX_BACKLOG,
): Promise<boolean> {
  if (!(await isAnyListening(db.read))) return false
  const position = await readSetting(db.read, POSITION)
  const events = await eventsAfter(db.read, Number(position ?? 0), BATCH_SIZE)
  const last = events.at(-1)
  if (last === undefined) return false
  await db.write(async (tx) => {
    if ((await readSetting(tx.db, POSITION)) !== position) return
    await writeSetting(tx, POSITION, String(last.seq))
    await queue(tx, events, now(), maxBacklog)
  })
  return events.length === BATCH_SIZE
}

/**
 * Call it in the transaction in which an endpoint begins to listen, before it does.
 * @returns the number of the last event that it does not get
 */
export async function beginListening(tx: Tx): Promise<number> {
  const last = await lastSeq(tx.db)
  // While nobody listens, the position stays behind.
  if (!(await isAnyListening(tx.db))) await writeSetting(tx, POSITION, String(last))
  return last
}

async function queue(
  tx: Tx,
  events: readonly EventRow[],
  at: number,
  maxBacklog: number,
): Promise<void> {
  const candidates = events.filter(({ type, tail }) => tail !== null && DELIVERED_TYPES.has(type))
  if (candidates.length === 0) return
  const owners = new Set(candidates.flatMap(({ owner_id }) => owner_id ?? []))
  for (const endpoint of await listeningEndpoints(tx.db, [...owners])) {
    const deliveries = candidates
      .filter((event) => isFor(endpoint, event))
      .map((event) => deliveryOf(endpoint, event, at))
    if (deliveries.length === 0) continue
    if (await isBacklogAbove(tx.db, endpoint.id, maxBacklog)) {
      await disable(tx, endpoint.id, 'backlog', at)
    } else {
      await insertDeliveries(tx, deliveries)
    }
  }
}

function isFor(
  { owner_id, after_seq, types, format }: WebhookEndpointRow,
  { seq, type, owner_id: ownerId }: EventRow,
): boolean {
  if (seq <= after_seq || (owner_id !== null && owner_id !== ownerId)) return false
  if (format === 'set' && !isSetEvent(type)) return false
  return types === null || types.split(' ').includes(type)
}

function deliveryOf({ id }: WebhookEndpointRow, event: EventRow, at: number): NewDelivery {
  const { seq, type, tail } = event
  const about = { seq, type, tail, at: event.at }
  return { id: deliveryId(id, about), endpoint_id: id, ...about, created_at: at }
}
