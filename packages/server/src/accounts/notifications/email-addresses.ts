import { CodedError, isEmailAddress, SECURITY_KINDS } from '@countersign/protocol'
import { hashToken } from '../../base/hash-token.ts'
import type { OwnerRow, Tx } from '../../database/database.ts'
import type { EmailAddressRow } from '../../database/schema/notification-rows.ts'
import { takeFromFixedQuota } from '../../http/limits/fixed-quota.ts'
import type { Rate } from '../../http/limits/quota.ts'
import { ownerById } from '../owner-table.ts'
import { assertStillSignedIn, type Session } from '../owners/session.ts'
import type { OwnerDeps } from '../providers/providers.ts'
import {
  addressById,
  addressesOfOwner,
  deleteAddress,
  insertAddress,
  redeemAddressToken,
  setAddressToken,
} from './email-address-table.ts'
import { addressOfToken, verificationToken } from './email-links.ts'
import { appendNotification, insertEmail } from './notify-owner.ts'
import { deleteQueuedEmails, deleteVerificationEmails } from './outbox-table.ts'

const MAX_ADDRESSES = 3
/** How long a verification link can be used. */
const LINK_LIFETIME_MS = 24 * 3_600_000
/** How long after a verification e-mail the same address gets no other one. */
const RESEND_MS = 2 * 60_000

/** Verification e-mails that one owner can have sent. */
const OWNER_RATE: Rate = { quota: 5, windowMs: 3_600_000 }
/** Verification e-mails that one address gets, from all accounts together. */
const ADDRESS_RATE: Rate = { quota: 5, windowMs: 24 * 3_600_000 }

export interface NotificationDeps extends OwnerDeps {
  /** How e-mail is delivered. Null: not at all. */
  readonly mailDelivery: 'smtp' | 'development' | null
}

type Deps = Pick<NotificationDeps, 'db' | 'pepper' | 'now' | 'randomBytes' | 'mailDelivery'>

/**
 * Adds an address to an account, and sends a link that verifies it. The result does not depend on whether other accounts have
 * the address.
 * @throws CodedError VALIDATION_ERROR if it is no address or the account has too many, UNAVAILABLE if the service sends no
 *   e-mail, UNAUTHENTICATED if the session has ended
 */
export async function addAddress(deps: Deps, session: Session, address: string): Promise<void> {
  assertMailAvailable(deps)
  if (!isEmailAddress(address)) throw invalid('This is not an e-mail address.')
  const id = Buffer.from(deps.randomBytes(12)).toString('base64url')
  await deps.db.write(async (tx) => {
    await assertStillSignedIn(tx, session)
    const rows = await addressesOfOwner(tx.db, session.ownerId)
    const isSame = (row: EmailAddressRow) => row.address.toLowerCase() === address.toLowerCase()
    if (rows.some(isSame)) throw invalid('You have added this address already.')
    if (rows.length >= MAX_ADDRESSES) {
      throw invalid(`An account has at most ${MAX_ADDRESSES} e-mail addresses. Remove one first.`)
    }
    const at = deps.now()
    const row: EmailAddressRow = {
      id,
      owner_id: session.ownerId,
      address,
      added_at: at,
      verified_at: null,
      token_hash: null,
      token_expires_at: null,
    }
    await insertAddress(tx, row)
    await sendLink(deps, tx, row, at)
  })
}

/**
 * Sends another link. The one before can no longer be used.
 * @throws CodedError NOT_FOUND, or VALIDATION_ERROR if the address is verified or a link was sent in the last minutes
 */
export async function resendLink(deps: Deps, ownerId: number, id: string): Promise<void> {
  assertMailAvailable(deps)
  await deps.db.write(async (tx) => {
    const row = await addressById(tx.db, id)
    if (row === undefined || row.owner_id !== ownerId) throw noSuchAddress()
    if (row.verified_at !== null) throw invalid('This address is verified already.')
    const at = deps.now()
    const sentAt = (row.token_expires_at ?? 0) - LINK_LIFETIME_MS
    if (at - sentAt < RESEND_MS) {
      throw invalid('An e-mail was sent a moment ago. Wait two minutes before you send another.')
    }
    await deleteVerificationEmails(tx, id)
    await sendLink(deps, tx, row, at)
  })
}

async function sendLink(
  { pepper }: Deps,
  tx: Tx,
  address: EmailAddressRow,
  at: number,
): Promise<void> {
  if (!(await takeOne(tx, pepper, `owner ${address.owner_id}`, OWNER_RATE, at))) {
    throw invalid('Too many e-mails were sent for you. Try again in an hour.')
  }
  const expiresAt = at + LINK_LIFETIME_MS
  const token = verificationToken(pepper, { ...address, token_expires_at: expiresAt })
  await setAddressToken(tx, address.id, {
    token_hash: hashToken(token),
    token_expires_at: expiresAt,
  })
  // Silent: an error would tell whether others have added the address.
  if (!(await takeOne(tx, pepper, `to ${address.address.toLowerCase()}`, ADDRESS_RATE, at))) return
  await insertEmail(tx, {
    id: `verify.${address.id}.${expiresAt}`,
    owner_id: address.owner_id,
    notification_id: null,
    address_id: address.id,
    address: address.address,
    created_at: at,
  })
}

/** @returns false if the quota is used up */
async function takeOne(
  tx: Tx,
  pepper: Deps['pepper'],
  whose: string,
  rate: Rate,
  now: number,
): Promise<boolean> {
  const key = pepper.authenticate('email-quota', whose)
  return (await takeFromFixedQuota(tx, key, rate, now)).isAllowed
}

/**
 * Removes an address. The address itself is told, so that nobody silences an owner unnoticed.
 * @throws CodedError NOT_FOUND
 */
export async function removeAddress(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  ownerId: number,
  id: string,
): Promise<void> {
  await db.write(async (tx) => {
    const row = await addressById(tx.db, id)
    if (row === undefined || row.owner_id !== ownerId) throw noSuchAddress()
    const at = now()
    if (row.verified_at !== null) {
      const details = { domain: domainOf(row.address) }
      const subject = `${id}:${at}`
      const kind = 'email_address_removed'
      await appendNotification(tx, { ownerId, kind, subject, details, at })
    }
    await deleteAddress(tx, ownerId, id)
    // Security notifications that are queued still reach the address.
    await deleteQueuedEmails(tx, id, SECURITY_KINDS)
  })
}

/** An address that a link would verify, and the account that it belongs to. */
export interface PendingAddress {
  readonly address: string
  readonly owner: Pick<OwnerRow, 'username'>
}

/** Finds what a verification link would verify, without using it up. Null if it is unknown, used or expired. */
export async function findPendingAddress(
  { db, pepper, now }: Pick<Deps, 'db' | 'pepper' | 'now'>,
  token: string,
): Promise<PendingAddress | null> {
  const id = addressOfToken(token)
  const row = id === null ? undefined : await addressById(db.read, id)
  if (row === undefined || row.token_hash === null || (row.token_expires_at ?? 0) <= now()) {
    return null
  }
  if (Buffer.compare(hashToken(verificationToken(pepper, row)), hashToken(token)) !== 0) return null
  const owner = await ownerById(db.read, row.owner_id)
  return owner === undefined ? null : { address: row.address, owner }
}

/** Verifies the address of a link, once. @returns null if the link is unknown, used or expired */
export async function verifyAddress(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  token: string,
): Promise<PendingAddress | null> {
  const id = addressOfToken(token)
  if (id === null) return null
  return db.write(async (tx) => {
    const at = now()
    const row = await redeemAddressToken(tx, id, hashToken(token), at)
    if (row === undefined) return null
    const details = { domain: domainOf(row.address) }
    const { owner_id: ownerId, address } = row
    await appendNotification(tx, { ownerId, kind: 'email_address_added', subject: id, details, at })
    const owner = await ownerById(tx.db, ownerId)
    return owner === undefined ? null : { address, owner }
  })
}

/** The domain of an address: notifications do not repeat the address itself. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

function assertMailAvailable({ mailDelivery }: Deps): void {
  if (mailDelivery !== null) return
  throw new CodedError('UNAVAILABLE', 'This service does not send e-mail.')
}

function invalid(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}

function noSuchAddress(): CodedError {
  return new CodedError('NOT_FOUND', 'You have no such e-mail address.')
}
