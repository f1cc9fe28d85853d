import {
  CodedError,
  WEBHOOK_TEST_TYPE,
  type WebhookDelivery,
  type WebhookDeliveryState,
} from '@countersign/protocol'
import type { Tx } from '../database/database.ts'
import type { WebhookDeliveryRow, WebhookEndpointRow } from '../database/schema/webhook-rows.ts'
import { takeFromFixedQuota } from '../http/limits/fixed-quota.ts'
import type { Rate } from '../http/limits/quota.ts'
import { type Attempt, attempt, type DeliveryDeps, resultRow } from './attempt.ts'
import { describeDelivery } from './delivery-log.ts'
import { deliveryById, insertAttempted, type NewDelivery, recordAttempt } from './delivery-table.ts'
import { markWorking } from './endpoint-table.ts'
import type { WebhookDeps } from './manage-endpoints.ts'
import { assertMayChange, requireEndpoint } from './manage-endpoints.ts'

/** Requests that an owner can have sent by hand: nobody may use the service to flood a site. */
const MANUAL_RATE: Rate = { quota: 30, windowMs: 3_600_000 }

/**
 * Sends a test delivery at once, ahead of what waits, and records it in the log.
 * @throws CodedError NOT_FOUND, FORBIDDEN if the owner is suspended, RATE_LIMITED after 30 of an hour
 */
export async function sendTest(
  deps: DeliveryDeps,
  ownerId: number,
  id: string,
): Promise<WebhookDelivery> {
  const endpoint = await requireEndpoint(deps.db.read, ownerId, id)
  await takeFromManualQuota(deps, ownerId)
  const at = deps.now()
  const delivery: NewDelivery = {
    id: `msg_${Buffer.from(deps.randomBytes(16)).toString('base64url')}`,
    endpoint_id: id,
    seq: null,
    type: WEBHOOK_TEST_TYPE,
    tail: null,
    at,
    created_at: at,
  }
  const result = await attempt(deps, endpoint, delivery)
  const row = await deps.db.write(async (tx) => {
    // It may have been deleted meanwhile.
    await requireEndpoint(tx.db, ownerId, id)
    await insertAttempted(tx, delivery, resultRow(stateAfter(result), result))
    return finish(deps, tx, endpoint, delivery.id, result)
  })
  return describeDelivery(deps.site, row)
}

/**
 * Sends a delivery of the log once more, at once and with the same `webhook-id`.
 * @throws CodedError NOT_FOUND, CONFLICT if it still waits in the queue, FORBIDDEN if the owner is suspended, RATE_LIMITED
 *   after 30 of an hour
 */
export async function redeliver(
  deps: DeliveryDeps,
  ownerId: number,
  id: string,
  deliveryId: string,
): Promise<WebhookDelivery> {
  const endpoint = await requireEndpoint(deps.db.read, ownerId, id)
  const delivery = await deliveryById(deps.db.read, id, deliveryId)
  if (delivery === undefined) throw noSuchDelivery()
  if (delivery.state === 'pending') {
    throw new CodedError(
      'CONFLICT',
      'This delivery still waits in the queue. Deliveries are made in order, and it is sent when its turn comes.',
    )
  }
  await takeFromManualQuota(deps, ownerId)
  const result = await attempt(deps, endpoint, delivery)
  const row = await deps.db.write(async (tx) => {
    // A delivery that once arrived stays delivered.
    const state = delivery.state === 'delivered' ? 'delivered' : stateAfter(result)
    await recordAttempt(tx, deliveryId, resultRow(state, result))
    return finish(deps, tx, endpoint, deliveryId, result)
  })
  return describeDelivery(deps.site, row)
}

function stateAfter({ problem }: Attempt): WebhookDeliveryState {
  return problem === null ? 'delivered' : 'failed'
}

/** A success shows that the endpoint works, so that what waits need not wait any longer. */
async function finish(
  { now }: WebhookDeps,
  tx: Tx,
  { id, owner_id: ownerId }: WebhookEndpointRow,
  deliveryId: string,
  { problem }: Attempt,
): Promise<WebhookDeliveryRow> {
  await requireEndpoint(tx.db, ownerId, id)
  if (problem === null) await markWorking(tx, id, now())
  const row = await deliveryById(tx.db, id, deliveryId)
  if (row === undefined) throw noSuchDelivery()
  return row
}

async function takeFromManualQuota(
  { db, pepper, now }: WebhookDeps,
  ownerId: number,
): Promise<void> {
  const key = pepper.authenticate('webhook-quota', `owner ${ownerId}`)
  const { isAllowed, retryMs } = await db.write(async (tx) => {
    await assertMayChange(tx.db, ownerId)
    return takeFromFixedQuota(tx, key, MANUAL_RATE, now())
  })
  if (isAllowed) return
  throw new CodedError(
    'RATE_LIMITED',
    'Too many deliveries were sent by hand in the last hour. Try again in 2 minutes.',
    { retryAfterSeconds: Math.ceil(retryMs / 1000) },
  )
}

function noSuchDelivery(): CodedError {
  return new CodedError('NOT_FOUND', 'There is no such delivery.')
}
