import { isSecurityKind, type NotificationKind } from '@countersign/protocol'
import type { EmailOutboxRow } from '../../database/schema/notification-rows.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { offeredInvitation } from '../organisations/invitation-table.ts'
import { informedMembers } from '../organisations/membership-table.ts'
import { ownerById } from '../owner-table.ts'
import { provenDomainOf } from '../verification-table.ts'
import { describeNotification } from './describe-notification.ts'
import { addressById, verifiedHolders } from './email-address-table.ts'
import {
  unsubscribeToken,
  unsubscribeUrl,
  verificationToken,
  verificationUrl,
} from './email-links.ts'
import { wantsEmail } from './email-preferences.ts'
import { namesIn } from './list-notifications.ts'
import { notificationById } from './notification-table.ts'
import { minute, selfDeclared } from './notification-text.ts'
import { tailIn } from './notify-owner.ts'

/** An e-mail to one address. */
export interface Email {
  /** The same for every attempt. */
  readonly messageId: string
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** For List-Unsubscribe (RFC 8058); null: about security, or asked for. */
  readonly unsubscribeUrl: string | null
}

type Deps = Pick<CoreDeps, 'db' | 'site' | 'serviceName' | 'pepper' | 'now'>

/** What an e-mail says. All of its links lead to the service. */
interface Message {
  readonly subject: string
  readonly paragraphs: readonly string[]
  readonly action: { readonly label: string; readonly url: string } | null
  readonly unsubscribeUrl: string | null
}

/** Whether a queued e-mail is an invitation, whose id is its `address_id`: its address is of no account yet. */
export function isInvitation({ id, notification_id }: EmailOutboxRow): boolean {
  return notification_id === null && id.startsWith('invitation.')
}

/** Composes a queued e-mail. @returns null if it is no longer to be sent */
export async function composeEmail(deps: Deps, row: EmailOutboxRow): Promise<Email | null> {
  const message = await messageOf(deps, row)
  if (message === null) return null
  const { subject, unsubscribeUrl: url } = message
  const footer = [
    `${deps.serviceName}, ${deps.site.baseUrl}`,
    'Times are in UTC. Names in quotation marks were chosen by owners and agents; this service does not verify them.',
  ]
  return {
    messageId: `<${row.id}@${new URL(deps.site.baseUrl).hostname}>`,
    to: row.address,
    subject,
    text: textOf(message, footer),
    html: htmlOf(message, footer),
    unsubscribeUrl: url,
  }
}

function messageOf(deps: Deps, row: EmailOutboxRow): Promise<Message | null> {
  if (row.notification_id !== null) return notificationMessage(deps, row, row.notification_id)
  return isInvitation(row) ? invitationMessage(deps, row) : verificationMessage(deps, row)
}

/**
 * An invitation to an address, which may belong to no account. It has no token: the account that has verified the address finds
 * the invitation there. Everything that the organisation chose is quoted, and said to be its own words.
 */
async function invitationMessage(
  { db, site, serviceName, pepper, now }: Deps,
  row: EmailOutboxRow,
): Promise<Message | null> {
  const invitation = await offeredInvitation(db.read, row.address_id, now())
  if (invitation === undefined) return null
  const [holder] = await verifiedHolders(db.read, row.address)
  const kind = 'invitation'
  if (holder !== undefined && !(await wantsEmail(db.read, holder.owner_id, kind))) return null
  const domain = await provenDomainOf(db.read, invitation.org_id, now())
  const { organisation_name, organisation_username, invited_by_name, role, expires_at } = invitation
  const token = holder && unsubscribeToken(pepper, { addressId: holder.id, kind })
  return {
    subject: `Invitation to an organisation on ${serviceName}`,
    paragraphs: [
      `${selfDeclared(invited_by_name)} invites you to the organisation ${selfDeclared(organisation_name)} (@${organisation_username}) on ${serviceName}, with the role ${role}.`,
      domain === null
        ? 'The organisation has proven no domain. Anybody can choose its name: accept only an invitation that you expect.'
        : `The organisation has proven that it controls the domain ${domain}. Anybody can choose its name: accept only an invitation that you expect.`,
      `To answer, sign in or sign up, and verify this address for your account. The invitation is open until ${minute(expires_at)}. To decline it, ignore this e-mail.`,
    ],
    action: { label: 'Open your invitations', url: `${site.baseUrl}/dashboard/invitations` },
    unsubscribeUrl: token === undefined ? null : unsubscribeUrl(site.baseUrl, token),
  }
}

async function verificationMessage(
  { db, site, serviceName, pepper, now }: Deps,
  row: EmailOutboxRow,
): Promise<Message | null> {
  const address = await addressById(db.read, row.address_id)
  if (address === undefined || address.token_hash === null) return null
  if ((address.token_expires_at ?? 0) <= now()) return null
  const owner = await ownerById(db.read, row.owner_id)
  if (owner === undefined || owner.deleted_at !== null) return null
  return {
    subject: `Verify your e-mail address for ${serviceName}`,
    paragraphs: [
      `The account @${owner.username} of ${serviceName} added this address for notifications. To confirm it, open this link within 24 hours and press the button on the page.`,
      'If this is not your account, ignore this e-mail. Without confirmation, the address receives no notifications.',
    ],
    action: {
      label: 'Verify the address',
      url: verificationUrl(site.baseUrl, verificationToken(pepper, address)),
    },
    unsubscribeUrl: null,
  }
}

async function notificationMessage(
  { db, site, pepper }: Deps,
  row: EmailOutboxRow,
  id: string,
): Promise<Message | null> {
  const notification = await notificationById(db.read, id)
  if (notification === undefined) return null
  const ownerId = notification.owner_id
  // Members who have left since it was queued get nothing.
  if (ownerId !== row.owner_id) {
    const tail = tailIn(JSON.parse(notification.details))
    if (!(await informedMembers(db.read, ownerId, tail)).includes(row.owner_id)) return null
  }
  const names = await namesIn(db.read, [notification])
  const words = describeNotification(notification, site, names)
  if (words === null) return null
  const kind = notification.kind as NotificationKind
  const isSecurity = isSecurityKind(kind)
  // Security kinds were decided when they were queued: an attacker could change the preferences afterwards.
  if (!isSecurity && !(await wantsEmail(db.read, row.owner_id, kind))) return null
  const { title, text, link } = words
  const owner = await ownerById(db.read, ownerId)
  const dashboard = owner?.kind === 'organisation' ? `/dashboard/o/${owner.username}` : '/dashboard'
  const token = { addressId: row.address_id, kind }
  return {
    subject: title,
    paragraphs: [`${title}.`, text],
    action:
      link === null
        ? null
        : {
            label: 'Open the dashboard',
            url: site.baseUrl + link.replace(/^\/dashboard/, dashboard),
          },
    unsubscribeUrl: isSecurity
      ? null
      : unsubscribeUrl(site.baseUrl, unsubscribeToken(pepper, token)),
  }
}

function textOf(
  { paragraphs, action, unsubscribeUrl }: Message,
  footer: readonly string[],
): string {
  return [
    ...paragraphs,
    ...(action === null ? [] : [`${action.label}:\n${action.url}`]),
    `-- \n${footer.join('\n')}`,
    ...(unsubscribeUrl === null ? [] : [`Stop e-mails of this kind:\n${unsubscribeUrl}`]),
  ].join('\n\n')
}

function htmlOf(
  { subject, paragraphs, action, unsubscribeUrl }: Message,
  footer: readonly string[],
) {
  const link = ({ label, url }: { readonly label: string; readonly url: string }) =>
    `<p><a href="${escapeHtml(url)}">${escapeHtml(label)}</a></p>`
  return [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head><body>`,
    ...paragraphs.map((each) => `<p>${escapeHtml(each)}</p>`),
    ...(action === null ? [] : [link(action)]),
    '<hr>',
    ...footer.map((each) => `<p><small>${escapeHtml(each)}</small></p>`),
    ...(unsubscribeUrl === null
      ? []
      : [link({ label: 'Stop e-mails of this kind', url: unsubscribeUrl })]),
    '</body></html>',
  ].join('\n')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (each) => ENTITIES[each] ?? each)
}
