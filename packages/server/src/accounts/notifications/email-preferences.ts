import {
  type EmailAddress,
  type EmailSettings,
  isSecurityKind,
  NOTIFICATION_KINDS,
  type NotificationKind,
} from '@countersign/protocol'
import { timestamp } from '../../base/timestamp.ts'
import type { Db } from '../../database/database.ts'
import {
  addressById,
  addressesOfOwner,
  preferencesOfOwner,
  setPreference,
} from './email-address-table.ts'
import type { NotificationDeps } from './email-addresses.ts'
import { readUnsubscribeToken } from './email-links.ts'

/** What a kind of notification is about, for the list of preferences. Null: never sent by e-mail. */
const LABELS: Readonly<Record<NotificationKind, string | null>> = {
  verification_expiring: 'An identity verification expires soon',
  verification_expired: 'An identity verification has expired',
  channel_expiring: 'The proof of a channel expires soon',
  channel_failing: 'The proof of a channel was not found',
  channel_lost: 'A channel is no longer verified',
  webhook_disabled: 'A webhook endpoint was disabled',
  invitation: 'Somebody invites you to an organisation',
  responsible_missing: 'Agents have no responsible person',
  // It would go to the same address.
  email_undeliverable: null,
  agent_key_changed: 'An agent’s key was replaced or is being recovered',
  agent_delegation_changed:
    'An agent ended its delegations, or an API key changed how far it may delegate',
  agent_renounced: 'An agent renounced its certificate',
  agent_revoked: 'An agent was revoked',
  agent_suspended: 'An agent was suspended',
  agents_revoked: 'All agents were revoked',
  account_suspended: 'The operator suspended your account',
  new_sign_in: 'New sign-in',
  recovery_code_used: 'A recovery code was used',
  sign_in_method_added: 'A sign-in method was added',
  sign_in_method_removed: 'A sign-in method was removed',
  email_address_added: 'An e-mail address was added',
  email_address_removed: 'An e-mail address was removed',
  verification_removed: 'An identity verification was removed',
  api_key_created: 'An API key was created',
  transfer: 'Agents are offered, or move to another owner',
  access_changed:
    'A webhook, a grant issuer or a SCIM token was added, or a webhook has another URL',
  enrolment_rule_changed: 'An enrolment rule was created, changed, paused or deleted',
  report: 'Somebody reported requests of an agent',
  enrolment_attention: 'An enrolment rule needs attention',
  approval: 'An agent asks for an approval, or has used most of a mandate',
  member_changed: 'A member joined, left or got another role',
}

/** An owner's e-mail addresses and preferences. */
export async function describeEmailSettings(
  { db, mailDelivery }: Pick<NotificationDeps, 'db' | 'mailDelivery'>,
  ownerId: number,
): Promise<EmailSettings> {
  const rows = await preferencesOfOwner(db.read, ownerId)
  const chosen = new Map(rows.map((row) => [row.kind, row.enabled === 1]))
  return {
    available: mailDelivery !== null,
    development: mailDelivery === 'development',
    addresses: await describeAddresses(db.read, ownerId),
    preferences: NOTIFICATION_KINDS.flatMap((kind) => {
      const label = LABELS[kind]
      if (label === null) return []
      return [{ kind, label, security: isSecurityKind(kind), enabled: chosen.get(kind) ?? true }]
    }),
  }
}

/** An owner's e-mail addresses, as responses show them. */
export async function describeAddresses(db: Db, ownerId: number): Promise<EmailAddress[]> {
  const rows = await addressesOfOwner(db, ownerId)
  return rows.map(({ id, address, added_at: addedAt, verified_at: verifiedAt }) => ({
    id,
    address,
    addedAt: timestamp(addedAt),
    verifiedAt: verifiedAt === null ? null : timestamp(verifiedAt),
  }))
}

/** The choices that an owner has made, for the export of the account. */
export async function describeChoices(
  db: Db,
  ownerId: number,
): Promise<{ kind: string; enabled: boolean }[]> {
  const rows = await preferencesOfOwner(db, ownerId)
  return rows.map(({ kind, enabled }) => ({ kind, enabled: enabled === 1 }))
}

/** Sets whether an owner gets e-mail of a kind of notification. */
export async function changePreference(
  { db }: Pick<NotificationDeps, 'db'>,
  ownerId: number,
  { kind, enabled }: { readonly kind: NotificationKind; readonly enabled: boolean },
): Promise<void> {
  await db.write((tx) => setPreference(tx, { owner_id: ownerId, kind, enabled: enabled ? 1 : 0 }))
}

/** Whether an owner wants e-mail of a kind now. */
export async function wantsEmail(db: Db, ownerId: number, kind: string): Promise<boolean> {
  const rows = await preferencesOfOwner(db, ownerId)
  return rows.every((row) => row.kind !== kind || row.enabled === 1)
}

/** The e-mails that an unsubscribe link ends. Null if the link is invalid, or about security. */
export interface UnsubscribeOffer {
  readonly kind: NotificationKind
  readonly label: string
}

/** Reads an unsubscribe link without acting on it. */
export function readUnsubscribeOffer(
  { pepper }: Pick<NotificationDeps, 'pepper'>,
  token: string,
): UnsubscribeOffer | null {
  const kind = readUnsubscribeToken(pepper, token)?.kind
  const label = kind === undefined ? null : LABELS[kind]
  if (kind === undefined || label === null || isSecurityKind(kind)) return null
  return { kind, label }
}

/**
 * Turns off the e-mails of an unsubscribe link (RFC 8058), which needs no sign-in. Succeeds again if they are off already, or
 * if the address was removed.
 * @returns null if the link is invalid
 */
export async function unsubscribe(
  deps: Pick<NotificationDeps, 'db' | 'pepper'>,
  token: string,
): Promise<UnsubscribeOffer | null> {
  const offer = readUnsubscribeOffer(deps, token)
  const target = readUnsubscribeToken(deps.pepper, token)
  if (offer === null || target === null) return null
  await deps.db.write(async (tx) => {
    const address = await addressById(tx.db, target.addressId)
    if (address === undefined) return
    await setPreference(tx, { owner_id: address.owner_id, kind: offer.kind, enabled: 0 })
  })
  return offer
}
