import type { WebhookDisabledReason } from '@countersign/protocol'
import { sql } from 'kysely'
import type { Db, Tx } from '../database/database.ts'
import type { WebhookEndpointRow } from '../database/schema/webhook-rows.ts'

/** An endpoint, and the attempt that holds it. */
export type LeasedEndpoint = Pick<WebhookEndpointRow, 'id' | 'leased_by'>

export async function insertEndpoint(tx: Tx, row: WebhookEndpointRow): Promise<void> {
  await tx.db.insertInto('webhook_endpoints').values(row).execute()
}

export function endpointById(db: Db, id: string): Promise<WebhookEndpointRow | undefined> {
  return db.selectFrom('webhook_endpoints').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The endpoints of an owner, or of the operator, newest first. @param ownerId null: the operator */
export function endpointsOf(db: Db, ownerId: number | null): Promise<WebhookEndpointRow[]> {
  return db
    .selectFrom('webhook_endpoints')
    .selectAll()
    .where('owner_id', ownerId === null ? 'is' : '=', ownerId)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
}

/** Whether any endpoint wants new events. */
export async function isAnyListening(db: Db): Promise<boolean> {
  const rows = await db
    .selectFrom('webhook_endpoints')
    .select('id')
    .where('state', '<>', 'disabled')
    .limit(1)
    .execute()
  return rows.length > 0
}

/** The endpoints that want new events of the agents of some owners: those of the owners, and the operator's. */
export function listeningEndpoints(
  db: Db,
  ownerIds: readonly number[],
): Promise<WebhookEndpointRow[]> {
  return db
    .selectFrom('webhook_endpoints')
    .selectAll()
    .where('state', '<>', 'disabled')
    .where((eb) => {
      const operators = eb('owner_id', 'is', null)
      return ownerIds.length === 0 ? operators : eb.or([operators, eb('owner_id', 'in', ownerIds)])
    })
    .execute()
}

/** Active endpoints with a delivery that is due, and that nobody serves, the longest due first. */
export async function dueEndpoints(db: Db, now: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('webhook_endpoints as endpoint')
    .select('endpoint.id')
    .where('endpoint.state', '=', 'active')
    .where('endpoint.due_at', '<=', now)
    .where('endpoint.held_until', '<=', now)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('webhook_deliveries as delivery')
          .select(sql.lit(1).as('one'))
          .where('delivery.state', '=', 'pending')
          .whereRef('delivery.endpoint_id', '=', 'endpoint.id'),
      ),
    )
    .orderBy('endpoint.due_at')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * Takes the lease of an endpoint. Of several nodes one succeeds.
 * @param leased_by random, for one turn
 * @returns undefined if another node holds it, or it is not due, not active or gone
 */
export function leaseEndpoint(
  tx: Tx,
  { id, leased_by }: LeasedEndpoint,
  { now, until }: { readonly now: number; readonly until: number },
): Promise<WebhookEndpointRow | undefined> {
  return tx.db
    .updateTable('webhook_endpoints')
    .set({ leased_by, held_until: until })
    .where('id', '=', id)
    .where('state', '=', 'active')
    .where('due_at', '<=', now)
    .where('held_until', '<=', now)
    .returningAll()
    .executeTakeFirst()
}

/** Ends a turn. @param dueAt when the next one is due */
export async function releaseEndpoint(
  tx: Tx,
  { id, leased_by }: LeasedEndpoint,
  dueAt: number,
): Promise<void> {
  await tx.db
    .updateTable('webhook_endpoints')
    .set({ leased_by: null, held_until: 0, due_at: dueAt })
    .where('id', '=', id)
    .where('leased_by', '=', leased_by)
    .execute()
}

/**
 * Records a success during a turn, and extends the lease.
 * @returns undefined if the lease is lost or the endpoint no longer active
 */
export function extendAfterSuccess(
  tx: Tx,
  { id, leased_by }: LeasedEndpoint,
  { at, until }: { readonly at: number; readonly until: number },
): Promise<WebhookEndpointRow | undefined> {
  return tx.db
    .updateTable('webhook_endpoints')
    .set({ failures: 0, failing_since: null, delivered_at: at, held_until: until })
    .where('id', '=', id)
    .where('leased_by', '=', leased_by)
    .where('state', '=', 'active')
    .returningAll()
    .executeTakeFirst()
}

/** Ends a turn with a failed attempt. @returns undefined if the lease is lost */
export function releaseAfterFailure(
  tx: Tx,
  { id, leased_by }: LeasedEndpoint,
  { at, dueAt }: { readonly at: number; readonly dueAt: number },
): Promise<WebhookEndpointRow | undefined> {
  return tx.db
    .updateTable('webhook_endpoints')
    .set((eb) => ({
      leased_by: null,
      held_until: 0,
      due_at: dueAt,
      failures: eb('failures', '+', 1),
      failing_since: eb.fn.coalesce('failing_since', eb.val(at)),
    }))
    .where('id', '=', id)
    .where('leased_by', '=', leased_by)
    .returningAll()
    .executeTakeFirst()
}

/** Records a success outside of a turn: what waits is due at once. */
export async function markWorking(tx: Tx, id: string, at: number): Promise<void> {
  await tx.db
    .updateTable('webhook_endpoints')
    .set({ failures: 0, failing_since: null, delivered_at: at, due_at: 0 })
    .where('id', '=', id)
    .execute()
}

/** Disables an endpoint. @returns undefined if it is not active, so that of several callers one gets the row */
export function disableEndpoint(
  tx: Tx,
  id: string,
  reason: WebhookDisabledReason,
): Promise<WebhookEndpointRow | undefined> {
  return tx.db
    .updateTable('webhook_endpoints')
    .set({ state: 'disabled', disabled_reason: reason, leased_by: null, held_until: 0 })
    .where('id', '=', id)
    .where('state', '<>', 'disabled')
    .returningAll()
    .executeTakeFirst()
}

/** Active endpoints that have failed since before a time. */
export async function endpointsFailingSince(
  db: Db,
  before: number,
): Promise<Pick<WebhookEndpointRow, 'id'>[]> {
  return db
    .selectFrom('webhook_endpoints')
    .select('id')
    .where('state', '=', 'active')
    .where('failing_since', '<=', before)
    .execute()
}

export async function updateEndpoint(
  tx: Tx,
  id: string,
  change: Partial<WebhookEndpointRow>,
): Promise<void> {
  await tx.db.updateTable('webhook_endpoints').set(change).where('id', '=', id).execute()
}

/** Deletes an endpoint with its deliveries. */
export async function deleteEndpoint(tx: Tx, id: string): Promise<void> {
  await tx.db.deleteFrom('webhook_deliveries').where('endpoint_id', '=', id).execute()
  await tx.db.deleteFrom('webhook_endpoints').where('id', '=', id).execute()
}

/** The number of endpoints by whose they are and how they are. */
export async function countEndpoints(
  db: Db,
): Promise<{ isOperator: boolean; state: string; isFailing: boolean; count: number }[]> {
  const rows = await db
    .selectFrom('webhook_endpoints')
    .select(['state'])
    .select((eb) => [
      eb.case().when('owner_id', 'is', null).then(1).else(0).end().as('operator'),
      eb.case().when('failing_since', 'is', null).then(0).else(1).end().as('failing'),
      eb.fn.countAll().as('count'),
    ])
    .groupBy(['state', 'operator', 'failing'])
    .execute()
  return rows.map(({ state, operator, failing, count }) => ({
    state,
    isOperator: Number(operator) === 1,
    isFailing: Number(failing) === 1,
    count: Number(count),
  }))
}
