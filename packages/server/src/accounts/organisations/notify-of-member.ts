import type { Role } from '@countersign/protocol'
import type { OwnerRow, Tx } from '../../database/database.ts'
import type { MembershipRow } from '../../database/schema/organisation-rows.ts'
import { appendNotification, type NotificationDetails } from '../notifications/notify-owner.ts'
import { ownerById } from '../owner-table.ts'
import type { MembershipEndReason } from './membership-table.ts'

/** What became of a membership. */
export type MemberChange =
  | { readonly change: 'joined'; readonly role: Role }
  | { readonly change: 'role'; readonly role: Role; readonly formerRole: Role }
  | {
      readonly change: MembershipEndReason
      /** How much of what they created goes on. An identity provider does not see the list of them. */
      readonly webhooks?: number
      readonly grantIssuers?: number
      readonly enrolmentRules?: number
    }

/**
 * Notifies an organisation of a change of its members, and the member unless they made it themselves by joining or by deleting
 * their account. Names are not stored: an account may be erased.
 * @param at milliseconds since the Unix epoch
 */
export async function notifyOfMember(
  tx: Tx,
  { id, org_id: orgId, person_id: personId }: Pick<MembershipRow, 'id' | 'org_id' | 'person_id'>,
  change: MemberChange,
  at: number,
): Promise<void> {
  await append(tx, orgId, { ...change, member: id }, at)
  const isTheirs = change.change === 'joined' || change.change === 'account_deleted'
  if (personId === null || isTheirs) return
  const { username, display_name } = (await ownerById(tx.db, orgId)) as OwnerRow
  const organisation = { organisation: username, organisationName: display_name }
  await append(tx, personId, { ...change, ...organisation, member: id }, at)
}

async function append(
  tx: Tx,
  ownerId: number,
  details: NotificationDetails,
  at: number,
): Promise<void> {
  const subject = `${details.member}:${details.change}:${at}`
  await appendNotification(tx, { ownerId, kind: 'member_changed', subject, details, at })
}
