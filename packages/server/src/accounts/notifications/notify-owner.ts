import { createHash } from 'node:crypto'
import type { NotificationKind } from '@countersign/protocol'
import type { Db, Tx } from '../../database/database.ts'
import { informedMembers } from '../organisations/membership-table.ts'
import { wantedAddresses } from './email-address-table.ts'

/** Data of a notification's text. Texts that others chose are cleaned when they are shown. */
export type NotificationDetails = Readonly<Record<string, string | number | null>>

export interface NewNotification {
  readonly ownerId: number
  readonly kind: NotificationKind
  /** What it is about, with what tells it from earlier ones. The owner is notified once of (kind, subject). */
  readonly subject: string
  readonly details: NotificationDetails
  /** Milliseconds since the Unix epoch. */
  readonly at: number
  /** Never sent by e-mail. */
  readonly isInAppOnly?: true
}

/** Older notifications of an owner are deleted. Longer than a year, so that no warning is repeated. */
const RETENTION_MS = 400 * 86_400_000

/**
 * Notifies an owner within the transaction of what they are notified of, so that neither exists without the other. Also
 * queues the e-mails to their verified addresses, unless they have turned them off for this kind. Those of an organisation also
 * go to members (`informedMembers`), who choose for themselves.
 * @returns false, without a change, if the owner was notified of this before or the account no longer exists
 */
export async function appendNotification(
  tx: Tx,
  { ownerId, kind, subject, details, at, isInAppOnly }: NewNotification,
): Promise<boolean> {
  const id = idOf({ ownerId, kind, subject })
  const owner = await tx.db
    .selectFrom('owners')
    .select('kind')
    .where('id', '=', ownerId)
    .executeTakeFirst()
  if (owner === undefined) return false
  const inserted = await tx.db
    .insertInto('notifications')
    .values({
      id,
      owner_id: ownerId,
      kind,
      subject,
      details: JSON.stringify(details),
      created_at: at,
      read_at: null,
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .execute()
  if (inserted.length === 0) return false
  await tx.db
    .deleteFrom('notifications')
    .where('owner_id', '=', ownerId)
    .where('created_at', '<', at - RETENTION_MS)
    .execute()
  if (isInAppOnly) return true
  const members =
    owner.kind === 'organisation' ? await informedMembers(tx.db, ownerId, tailIn(details)) : []
  await queueEmails(tx, { id, recipients: [ownerId, ...members], kind, at })
  return true
}

function idOf({ ownerId, kind, subject }: NotificationKey): string {
  return createHash('sha256')
    .update(JSON.stringify([ownerId, kind, subject]))
    .digest('base64url')
    .slice(0, 22)
}

type NotificationKey = Pick<NewNotification, 'ownerId' | 'kind' | 'subject'>

/** Whether an owner was notified of this before. */
export async function isNotified(db: Db, notification: NotificationKey): Promise<boolean> {
  const row = await db
    .selectFrom('notifications')
    .select('id')
    .where('id', '=', idOf(notification))
    .executeTakeFirst()
  return row !== undefined
}

/** The tail of the agent that a notification is about; null if it is about none. */
export function tailIn({ tail }: NotificationDetails): string | null {
  return typeof tail === 'string' ? tail : null
}

async function queueEmails(
  tx: Tx,
  notification: {
    readonly id: string
    readonly recipients: readonly number[]
    readonly kind: string
    readonly at: number
  },
): Promise<void> {
  const { id, recipients, kind, at } = notification
  for (const address of await wantedAddresses(tx.db, recipients, kind)) {
    await insertEmail(tx, {
      id: `${id}.${address.id}`,
      owner_id: address.owner_id,
      notification_id: id,
      address_id: address.id,
      address: address.address,
      created_at: at,
    })
  }
}

/** Queues an e-mail, due at once. Does nothing if it is queued already. */
export async function insertEmail(
  tx: Tx,
  email: {
    readonly id: string
    readonly owner_id: number
    readonly notification_id: string | null
    readonly address_id: string
    readonly address: string
    readonly created_at: number
  },
): Promise<void> {
  const fresh = { attempts: 0, leased_by: null, held_until: 0, interruptions: 0 }
  await tx.db
    .insertInto('email_outbox')
    .values({ ...email, ...fresh, due_at: email.created_at })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}
