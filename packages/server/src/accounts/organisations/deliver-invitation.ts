import type { JobRow, Tx } from '../../database/database.ts'
import { takeFromFixedQuota } from '../../http/limits/fixed-quota.ts'
import type { Rate } from '../../http/limits/quota.ts'
import type { Pepper } from '../../secrets/secrets.ts'
import { verifiedHolders } from '../notifications/email-address-table.ts'
import { appendNotification, insertEmail } from '../notifications/notify-owner.ts'
import { ownerByUsername } from '../owner-table.ts'
import { type OfferedInvitation, offeredInvitation } from './invitation-table.ts'

/** The kind of job that tells somebody of an invitation. Its subject is the invitation's id. */
export const OFFER_INVITATION = 'offer-invitation'

/** Invitations by e-mail that one address gets, from all organisations together. */
const ADDRESS_RATE: Rate = { quota: 5, windowMs: 24 * 3_600_000 }

/** Notifies the accounts to which an invitation is open, and sends an e-mail if it is to an address. */
export async function deliverInvitation(
  tx: Tx,
  pepper: Pepper,
  { subject: id }: Pick<JobRow, 'subject'>,
  at: number,
): Promise<void> {
  const invitation = await offeredInvitation(tx.db, id, at)
  if (invitation === undefined) return
  const { email, username } = invitation
  if (username !== null) {
    const person = await ownerByUsername(tx.db, username)
    if (person?.kind !== 'person' || person.created_at > invitation.created_at) return
    await notify(tx, person.id, invitation, at)
    return
  }
  if (email === null) return
  for (const { owner_id } of await verifiedHolders(tx.db, email)) {
    await notify(tx, owner_id, invitation, at)
  }
  const key = pepper.authenticate('email-quota', `invitation to ${email}`)
  if (!(await takeFromFixedQuota(tx, key, ADDRESS_RATE, at)).isAllowed) return
  await insertEmail(tx, {
    id: `invitation.${id}`,
    owner_id: invitation.org_id,
    notification_id: null,
    address_id: id,
    address: email,
    created_at: at,
  })
}

/** An invitation to an address has an e-mail of its own. */
async function notify(
  tx: Tx,
  ownerId: number,
  { id, email, organisation_username, organisation_name, ...invitation }: OfferedInvitation,
  at: number,
): Promise<void> {
  await appendNotification(tx, {
    ownerId,
    kind: 'invitation',
    subject: id,
    details: {
      organisation: organisation_username,
      organisationName: organisation_name,
      role: invitation.role,
      member: invitation.invited_by,
      expiresAt: invitation.expires_at,
    },
    at,
    ...(email !== null && { isInAppOnly: true }),
  })
}
