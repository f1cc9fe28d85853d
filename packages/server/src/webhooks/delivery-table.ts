import type { WebhookDeliveryState } from '@countersign/protocol'
import { sql } from 'kysely'
import type { Db, Tx } from '../database/database.ts'
import type { WebhookDeliveryRow } from '../database/schema/webhook-rows.ts'

/** A delivery that was not attempted yet. */
export type NewDelivery = Pick<
  WebhookDeliveryRow,
  'id' | 'endpoint_id' | 'seq' | 'type' | 'tail' | 'at' | 'created_at'
>

/** How an attempt ended. */
export type AttemptResult = Pick<
  WebhookDeliveryRow,
  'state' | 'attempted_at' | 'status' | 'problem' | 'duration_ms'
>

const UNTRIED = {
  state: 'pending',
  attempts: 0,
  attempted_at: null,
  status: null,
  problem: null,
  duration_ms: null,
} as const

/** Rows of one statement: PostgreSQL takes 65,535 parameters. */
const INSERT_ROWS = 1000

/** Queues deliveries. Leaves those that exist. */
export async function insertDeliveries(tx: Tx, deliveries: readonly NewDelivery[]): Promise<void> {
  for (let from = 0; from < deliveries.length; from += INSERT_ROWS) {
    const rows = deliveries.slice(from, from + INSERT_ROWS).map((each) => ({ ...each, ...UNTRIED }))
    await tx.db
      .insertInto('webhook_deliveries')
      .values(rows)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute()
  }
}

/** Inserts a delivery with the result of its only attempt. */
export async function insertAttempted(
  tx: Tx,
  delivery: NewDelivery,
  result: AttemptResult,
): Promise<void> {
  await tx.db
    .insertInto('webhook_deliveries')
    .values({ ...delivery, ...result, attempts: 1 })
    .execute()
}

/** The delivery whose turn it is: the oldest event first. */
export function nextDelivery(db: Db, endpointId: string): Promise<WebhookDeliveryRow | undefined> {
  return db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('state', '=', 'pending')
    .where('endpoint_id', '=', endpointId)
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst()
}

/** Whether more than `count` deliveries wait. */
export async function isBacklogAbove(db: Db, endpointId: string, count: number): Promise<boolean> {
  const rows = await db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('state', '=', 'pending')
    .where('endpoint_id', '=', endpointId)
    .orderBy('seq')
    .limit(1)
    .offset(count)
    .execute()
  return rows.length > 0
}

/** The number of deliveries that wait, counted up to `limit`. */
export async function countPending(db: Db, endpointId: string, limit: number): Promise<number> {
  const rows = await db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('state', '=', 'pending')
    .where('endpoint_id', '=', endpointId)
    .limit(limit)
    .execute()
  return rows.length
}

/** Adds the result of an attempt. @returns undefined if the delivery no longer exists */
export function recordAttempt(
  tx: Tx,
  id: string,
  result: AttemptResult,
): Promise<WebhookDeliveryRow | undefined> {
  return tx.db
    .updateTable('webhook_deliveries')
    .set((eb) => ({ ...result, attempts: eb('attempts', '+', 1) }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

export function deliveryById(
  db: Db,
  endpointId: string,
  id: string,
): Promise<WebhookDeliveryRow | undefined> {
  return db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('endpoint_id', '=', endpointId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Tests have no number. */
const SEQ_OR_0 = sql<number>`coalesce(seq, 0)`

/** Where a page of the log begins: after this delivery. */
export interface LogPosition {
  readonly createdAt: number
  /** 0 for a test. */
  readonly seq: number
  readonly id: string
}

/** The log of an endpoint, newest first. @param state null: all */
export function deliveriesBefore(
  db: Db,
  endpointId: string,
  {
    before,
    state,
    limit,
  }: {
    readonly before: LogPosition | null
    readonly state: WebhookDeliveryState | null
    readonly limit: number
  },
): Promise<WebhookDeliveryRow[]> {
  let query = db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('endpoint_id', '=', endpointId)
    .orderBy('created_at', 'desc')
    .orderBy(SEQ_OR_0, 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  if (state !== null) query = query.where('state', '=', state)
  if (before !== null) {
    const { createdAt, seq, id } = before
    query = query.where(sql<boolean>`(created_at, ${SEQ_OR_0}, id) < (${createdAt}, ${seq}, ${id})`)
  }
  return query.execute()
}

/** Whether any delivery was queued before a time. */
export async function isAnyBefore(db: Db, before: number): Promise<boolean> {
  const rows = await db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('created_at', '<', before)
    .limit(1)
    .execute()
  return rows.length > 0
}

/** Deletes deliveries that were queued before a time. */
export async function deleteDeliveriesBefore(tx: Tx, before: number): Promise<void> {
  await tx.db.deleteFrom('webhook_deliveries').where('created_at', '<', before).execute()
}

/** What waits at an active endpoint. */
export interface Backlog {
  readonly count: number
  /** When the oldest of it was queued. */
  readonly oldestAt: number
  /** When the next attempt is due. */
  readonly dueAt: number
}

/** What waits at each active endpoint. */
export async function backlogs(db: Db): Promise<Backlog[]> {
  const rows = await db
    .selectFrom('webhook_deliveries as delivery')
    .innerJoin('webhook_endpoints as endpoint', 'endpoint.id', 'delivery.endpoint_id')
    .select(['endpoint.due_at', 'endpoint.id'])
    .select((eb) => [
      eb.fn.countAll().as('count'),
      eb.fn.min('delivery.created_at').as('oldest_at'),
    ])
    .where('delivery.state', '=', 'pending')
    .where('endpoint.state', '=', 'active')
    .groupBy(['endpoint.id', 'endpoint.due_at'])
    .execute()
  return rows.map(({ count, oldest_at, due_at }) => ({
    count: Number(count),
    oldestAt: Number(oldest_at),
    dueAt: due_at,
  }))
}
