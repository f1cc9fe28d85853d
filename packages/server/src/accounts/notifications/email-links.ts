import { timingSafeEqual } from 'node:crypto'
import { NOTIFICATION_KINDS, type NotificationKind } from '@countersign/protocol'
import type { EmailAddressRow } from '../../database/schema/notification-rows.ts'
import type { Pepper } from '../../secrets/secrets.ts'

/*
 * The tokens of links in e-mails are authenticated by the deployment's secret, so that a retry of an e-mail has the same link
 * and the database holds no token.
 */

/** The token of a verification link. Single use: the database has its hash until it is used or replaced. */
export function verificationToken(
  pepper: Pepper,
  { id, address, token_expires_at: expiresAt }: EmailAddressRow,
): string {
  const text = JSON.stringify([id, address, expiresAt])
  return `${id}.${Buffer.from(pepper.authenticate('verify-email', text)).toString('base64url')}`
}

/** @returns the id of the address that a verification token names; it proves nothing yet. Null if it is malformed */
export function addressOfToken(token: string): string | null {
  return /^([\w-]{16})\.[\w-]{43}$/.exec(token)?.[1] ?? null
}

/** What an unsubscribe link turns off: one kind of notification, for the owner of an address. */
export interface Unsubscription {
  readonly addressId: string
  readonly kind: NotificationKind
}

/** The token of an unsubscribe link. It has no expiry: e-mails are read late. */
export function unsubscribeToken(pepper: Pepper, { addressId, kind }: Unsubscription): string {
  return `${addressId}.${kind}.${unsubscribeTag(pepper, addressId, kind)}`
}

/** @returns null if the token was not made here */
export function readUnsubscribeToken(pepper: Pepper, token: string): Unsubscription | null {
  const [, addressId = '', name = '', tag = ''] =
    /^([\w-]{16})\.([a-z_]{1,64})\.([\w-]{43})$/.exec(token) ?? []
  const kind = NOTIFICATION_KINDS.find((each) => each === name)
  const expected = Buffer.from(unsubscribeTag(pepper, addressId, name))
  const given = Buffer.from(tag)
  if (kind === undefined || given.length !== expected.length) return null
  return timingSafeEqual(given, expected) ? { addressId, kind } : null
}

function unsubscribeTag(pepper: Pepper, addressId: string, kind: string): string {
  const text = JSON.stringify([addressId, kind])
  return Buffer.from(pepper.authenticate('unsubscribe', text)).toString('base64url')
}

export function verificationUrl(baseUrl: string, token: string): string {
  return `${baseUrl}/email/verify?token=${token}`
}

export function unsubscribeUrl(baseUrl: string, token: string): string {
  return `${baseUrl}/email/unsubscribe?token=${token}`
}
