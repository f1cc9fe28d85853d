import type { WebhookDisabledReason } from '@countersign/protocol'
import { appendNotification } from '../accounts/notifications/notify-owner.ts'
import { isLost, type MembershipEffect } from '../accounts/organisations/end-membership.ts'
import type { Tx } from '../database/database.ts'
import { disableEndpoint, endpointsOf } from './endpoint-table.ts'

/**
 * Disables an endpoint and notifies its owner. What waits stays, so that it is delivered if the owner activates it again.
 * @returns false if it was disabled before, or is gone
 */
export async function disable(
  tx: Tx,
  id: string,
  reason: WebhookDisabledReason,
  at: number,
): Promise<boolean> {
  const endpoint = await disableEndpoint(tx, id, reason)
  if (endpoint === undefined) return false
  if (endpoint.owner_id !== null) {
    await appendNotification(tx, {
      ownerId: endpoint.owner_id,
      kind: 'webhook_disabled',
      subject: `${id}:${at}`,
      details: { webhook: id, host: new URL(endpoint.url).host, reason },
      at,
    })
  }
  return true
}

/** Disables the endpoints that an API key created or gave their URL. Their owner asked for it, so no notification follows. */
export async function disableWebhooksOfKey(tx: Tx, ownerId: number, apiKey: string): Promise<void> {
  for (const { id, created_by_key } of await endpointsOf(tx.db, ownerId)) {
    if (created_by_key === apiKey) await disableEndpoint(tx, id, 'key_revoked')
  }
}

/** The endpoints that a member created or moved go on without them, and are listed for review. */
export const endpointsOfEndedMember: MembershipEffect = async (tx, lost) => {
  if (!isLost(lost, 'manager')) return {}
  const { id, org_id: ownerId } = lost.membership
  const created = (await endpointsOf(tx.db, ownerId)).filter((each) => each.created_by === id)
  return { toReview: { webhooks: created.map((each) => each.id) } }
}
