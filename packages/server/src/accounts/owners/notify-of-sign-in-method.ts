import type { Tx } from '../../database/database.ts'
import { recordAccountActivity } from '../account-activity-table.ts'
import { appendNotification } from '../notifications/notify-owner.ts'

/** What signs an owner in. */
export type ChangedSignInMethod =
  /** `name` was chosen by the person who added the passkey. */
  | { readonly method: 'passkey'; readonly id: string; readonly name: string }
  | { readonly method: 'provider'; readonly provider: string }
  | { readonly method: 'recovery-codes' }

/**
 * Notifies an owner that a sign-in method was added or removed, and records it as an activity, in the transaction of the change.
 * @param at milliseconds since the Unix epoch
 */
export async function notifyOfSignInMethod(
  tx: Tx,
  ownerId: number,
  change: 'added' | 'removed',
  changed: ChangedSignInMethod,
  at: number,
): Promise<void> {
  const { method } = changed
  const type = `owner.sign_in_method_${change}` as const
  await recordAccountActivity(tx, { ownerId, type, details: { ...changed }, at })
  const which = method === 'passkey' ? changed.id : method === 'provider' ? changed.provider : ''
  await appendNotification(tx, {
    ownerId,
    kind: change === 'added' ? 'sign_in_method_added' : 'sign_in_method_removed',
    subject: `${method}:${which}:${at}`,
    details: { ...changed },
    at,
  })
}
