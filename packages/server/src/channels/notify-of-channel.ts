import type { NotificationKind } from '@countersign/protocol'
import {
  appendNotification,
  type NotificationDetails,
} from '../accounts/notifications/notify-owner.ts'
import type { AgentRow, ChannelRow, Tx } from '../database/database.ts'

/** Notifies the owner of an agent about one of its channels, in the transaction of the change. */
export async function notifyOfChannel(
  tx: Tx,
  { owner_id: ownerId, tail, agent_id: agentId, status }: AgentRow,
  { id, kind: channelKind, handle_or_domain: handle }: ChannelRow,
  {
    kind,
    details,
    at,
  }: {
    readonly kind: NotificationKind
    readonly details: NotificationDetails
    /** Milliseconds since the Unix epoch. */
    readonly at: number
  },
): Promise<void> {
  if (status === 'revoked') return
  const subject = `${id}:${at}`
  const about = { tail, agentId, channelId: id, channelKind, handle }
  await appendNotification(tx, { ownerId, kind, subject, details: { ...about, ...details }, at })
}
