import { appendNotification, isNotified } from '../../accounts/notifications/notify-owner.ts'
import type { Db, Tx } from '../../database/database.ts'
import type { EnrolmentRuleRow } from '../../database/schema/enrolment-rows.ts'

/** Why an owner should look at a rule. */
export type Attention = 'token-reused' | 'keys-unreadable' | 'unknown-key' | 'full'

const KIND = 'enrolment_attention'
const DAY_MS = 86_400_000

function subjectOf(id: string, reason: Attention, at: number): string {
  return `${id}:${reason}:${Math.floor(at / DAY_MS)}`
}

/** Whether the owner was notified of this today. @param at milliseconds since the Unix epoch */
export function wasNotified(
  db: Db,
  { id, owner_id: ownerId }: EnrolmentRuleRow,
  reason: Attention,
  at: number,
): Promise<boolean> {
  return isNotified(db, { ownerId, kind: KIND, subject: subjectOf(id, reason, at) })
}

/** Notifies the owner of a rule, once a day for each reason. @param at milliseconds since the Unix epoch */
export async function notifyOfAttention(
  tx: Tx,
  { id, owner_id: ownerId, name }: EnrolmentRuleRow,
  reason: Attention,
  at: number,
): Promise<void> {
  const subject = subjectOf(id, reason, at)
  await appendNotification(tx, {
    ownerId,
    kind: KIND,
    subject,
    details: { rule: id, name, reason },
    at,
  })
}
