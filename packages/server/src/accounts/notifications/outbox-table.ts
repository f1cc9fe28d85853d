import type { Db, Tx } from '../../database/database.ts'
import type { EmailOutboxRow } from '../../database/schema/notification-rows.ts'

/** E-mails that are due and that nobody is sending, the longest due first. */
export function dueEmails(db: Db, now: number, limit: number): Promise<EmailOutboxRow[]> {
  return db
    .selectFrom('email_outbox')
    .selectAll()
    .where('due_at', '<=', now)
    .where('held_until', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute()
}

/**
 * Takes the lease of an e-mail. Of several nodes one succeeds. An e-mail that is still leased was interrupted: nobody knows
 * whether the SMTP server has it.
 * @param leased_by random, for one attempt
 * @returns undefined if another attempt holds it, or it is gone
 */
export function leaseEmail(
  tx: Tx,
  { id, leased_by }: Pick<EmailOutboxRow, 'id' | 'leased_by'>,
  { now, until }: { readonly now: number; readonly until: number },
): Promise<EmailOutboxRow | undefined> {
  return tx.db
    .updateTable('email_outbox')
    .set((eb) => ({
      leased_by,
      held_until: until,
      interruptions: eb
        .case()
        .when('leased_by', 'is not', null)
        .then(eb('interruptions', '+', 1))
        .else(eb.ref('interruptions'))
        .end(),
    }))
    .where('id', '=', id)
    .where('due_at', '<=', now)
    .where('held_until', '<=', now)
    .returningAll()
    .executeTakeFirst()
}

/** Deletes an e-mail whose attempt has ended. @returns false if another attempt has taken it meanwhile */
export async function deleteEmail(
  tx: Tx,
  { id, leased_by }: Pick<EmailOutboxRow, 'id' | 'leased_by'>,
): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('email_outbox')
    .where('id', '=', id)
    .where('leased_by', '=', leased_by)
    .returning('id')
    .execute()
  return deleted.length > 0
}

/** Ends an attempt. @param change when to try again, and what is known about this attempt */
export async function releaseEmail(
  tx: Tx,
  { id, leased_by }: Pick<EmailOutboxRow, 'id' | 'leased_by'>,
  change: Partial<Pick<EmailOutboxRow, 'due_at' | 'attempts' | 'interruptions'>>,
): Promise<void> {
  await tx.db
    .updateTable('email_outbox')
    .set({ ...change, leased_by: null, held_until: 0 })
    .where('id', '=', id)
    .where('leased_by', '=', leased_by)
    .execute()
}

/** Deletes the e-mails that verify an address. */
export async function deleteVerificationEmails(tx: Tx, addressId: string): Promise<void> {
  await tx.db
    .deleteFrom('email_outbox')
    .where('address_id', '=', addressId)
    .where('notification_id', 'is', null)
    .execute()
}

/**
 * Deletes the e-mails to an address that are not sent yet, except those of some kinds.
 * @param exceptKinds of notification
 */
export async function deleteQueuedEmails(
  tx: Tx,
  addressId: string,
  exceptKinds: readonly string[],
): Promise<void> {
  const kept = tx.db
    .selectFrom('notifications')
    .innerJoin('email_outbox as queued', 'queued.notification_id', 'notifications.id')
    .select('notifications.id')
    .where('queued.address_id', '=', addressId)
    .where('notifications.kind', 'in', exceptKinds)
  await tx.db
    .deleteFrom('email_outbox')
    .where('address_id', '=', addressId)
    .where((eb) =>
      eb.or([eb('notification_id', 'is', null), eb('notification_id', 'not in', kept)]),
    )
    .execute()
}

/** The number of e-mails that are not sent yet, counted up to `limit`, and when the oldest of these was queued. */
export async function summarizeQueue(
  db: Db,
  limit: number,
): Promise<{ readonly count: number; readonly oldest: number | null }> {
  const { count, oldest } = await db
    .selectFrom(
      db
        .selectFrom('email_outbox')
        .select('created_at')
        .where('due_at', 'is not', null)
        .limit(limit)
        .as('queued'),
    )
    .select((eb) => [eb.fn.countAll().as('count'), eb.fn.min('created_at').as('oldest')])
    .executeTakeFirstOrThrow()
  return { count: Number(count), oldest: oldest === null ? null : Number(oldest) }
}

/** E-mails that were delivered to the development outbox, newest first. */
export function deliveredEmails(db: Db, limit: number): Promise<EmailOutboxRow[]> {
  return db
    .selectFrom('email_outbox')
    .selectAll()
    .where('due_at', 'is', null)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Deletes e-mails that were queued before a time. */
export async function deleteEmailsBefore(tx: Tx, before: number): Promise<void> {
  await tx.db.deleteFrom('email_outbox').where('created_at', '<', before).execute()
}
