import { CodedError, type SignInMethod } from '@countersign/protocol'
import { hashToken } from '../../base/hash-token.ts'
import type { Database, SessionRow, Tx } from '../../database/database.ts'
import { recordAccountActivity } from '../account-activity-table.ts'
import { appendNotification } from '../notifications/notify-owner.ts'
import type { Caller, Membership } from '../notify-of-access.ts'
import { liveMembershipById } from '../organisations/membership-table.ts'
import { ownerById } from '../owner-table.ts'
import {
  deleteEndedSessions,
  deleteSession,
  insertSession,
  sessionByHash,
  touchSession,
} from './session-table.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Sessions end after this time even if they are used. */
export const SESSION_LIFETIME_MS = 30 * DAY_MS
/** Sessions that are not used end after this time. */
const SESSION_IDLE_MS = 7 * DAY_MS
/** Sessions that the identity provider of an organisation started end after this time: it may have let the person go since. */
const LIMITED_SESSION_LIFETIME_MS = 12 * HOUR_MS
/** How long a sign-in counts as recent, for sensitive actions. */
export const RECENT_MS = 10 * MINUTE_MS
/** How long after a sign-in claim tokens can be issued: a stolen session must not certify agents for weeks. */
const CLAIM_TOKEN_MS = 12 * HOUR_MS
/** `last_seen_at` is updated at most this often. */
const TOUCH_MS = 5 * MINUTE_MS

const TOKEN_BYTES = 32

export interface SessionDeps {
  readonly db: Database
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

/** A valid session. */
export interface Session extends Caller {
  readonly id: string
  readonly apiKey: null
  /** Who acts. The same as `ownerId` if they act for their own account. */
  readonly personId: number
  /** The organisation whose identity provider started the session: it acts for no other owner. Null: not limited. */
  readonly limitedTo: number | null
  /** Milliseconds since the Unix epoch. */
  readonly signedInAt: number
  readonly method: SignInMethod
  /** SHA-256 of the cookie's value. */
  readonly hash: Uint8Array
}

/** A session that acts for an organisation. */
export interface MemberSession extends Session {
  readonly membership: Membership
}

/** The browser that signs in. */
export interface Browser {
  /** Its session before, which the sign-in ends. This prevents session fixation. */
  readonly session: Session | null
  /** The User-Agent header, unchecked. */
  readonly userAgent: string
}

/** Who signs in, and how. */
export interface NewSession {
  readonly id: number
  readonly method: SignInMethod
  readonly browser: Browser
  /** The credential id of the passkey, if `method` is `passkey`. */
  readonly passkeyId?: string
  /** The sign-up itself starts the session: the owner needs no notification of it. */
  readonly isNewAccount?: true
  /** The id of the provider, if `method` is `provider`. */
  readonly provider?: string
  /** The organisation that the session is limited to, if its identity provider started it. */
  readonly limitedTo?: number
  /** When the person authenticated, if that is not now. Milliseconds since the Unix epoch. */
  readonly signedInAt?: number
}

/**
 * Starts a session within the transaction that authenticated the owner.
 * @returns the value for the session cookie: 256 random bits, base64url; the database stores their SHA-256
 * @throws CodedError UNAUTHENTICATED if the account was deleted
 */
export async function startSession(
  deps: Pick<SessionDeps, 'now' | 'randomBytes'>,
  tx: Tx,
  owner: NewSession,
): Promise<string> {
  const token = Buffer.from(deps.randomBytes(TOKEN_BYTES)).toString('base64url')
  const at = deps.now()
  await assertAccountExists(tx, owner.id)
  if (owner.browser.session !== null) await deleteSession(tx, owner.browser.session.hash)
  await deleteEndedSessions(tx, at, at - SESSION_IDLE_MS)
  const id = Buffer.from(deps.randomBytes(9)).toString('base64url')
  await insertSession(tx, {
    hash: hashToken(token),
    id,
    owner_id: owner.id,
    method: owner.method,
    browser: owner.browser.userAgent.slice(0, 256),
    signed_in_at: owner.signedInAt ?? at,
    last_seen_at: at,
    expires_at:
      at + (owner.limitedTo === undefined ? SESSION_LIFETIME_MS : LIMITED_SESSION_LIFETIME_MS),
    passkey_id: owner.passkeyId ?? null,
    provider: owner.provider ?? null,
    limited_to: owner.limitedTo ?? null,
  })
  await recordSignIn(tx, owner, at)
  if (!owner.isNewAccount) await notifyOfSignIn(tx, id, owner, at)
  return token
}

/** The same data as in the notification, which is not sent of every sign-in. */
async function recordSignIn(tx: Tx, owner: NewSession, at: number): Promise<void> {
  const { id: ownerId, method, browser, provider, isNewAccount } = owner
  const isConfirmed = browser.session?.ownerId === ownerId
  await recordAccountActivity(tx, {
    ownerId,
    type: isNewAccount
      ? 'owner.signed_up'
      : isConfirmed
        ? 'owner.sign_in_confirmed'
        : 'owner.signed_in',
    details: {
      method,
      ...(provider !== undefined && { provider }),
      browser: browser.userAgent.slice(0, 256),
    },
    at,
  })
}

/** Not of a sign-in that confirms who is signed in at this browser already, except by a recovery code. */
async function notifyOfSignIn(
  tx: Tx,
  sessionId: string,
  owner: NewSession,
  at: number,
): Promise<void> {
  const { id: ownerId, method, browser } = owner
  const usedCode = method === 'recovery-code'
  if (browser.session?.ownerId === ownerId && !usedCode) return
  await appendNotification(tx, {
    ownerId,
    kind: usedCode ? 'recovery_code_used' : 'new_sign_in',
    subject: sessionId,
    details: { method, browser: browser.userAgent.slice(0, 256), signedInAt: at },
    at,
  })
}

/** Checked in the transaction: an account may be deleted while a sign-in is in progress. */
async function assertAccountExists(tx: Tx, ownerId: number): Promise<void> {
  const owner = await ownerById(tx.db, ownerId)
  if (owner === undefined || owner.deleted_at !== null) {
    throw new CodedError('UNAUTHENTICATED', 'This account no longer exists.')
  }
}

/**
 * Checks again, in the transaction, that the session has not ended since the request was authenticated.
 * @throws CodedError UNAUTHENTICATED
 */
export async function assertStillSignedIn(tx: Tx, session: Session): Promise<void> {
  if ((await sessionByHash(tx.db, session.hash)) !== undefined) return
  throw new CodedError('UNAUTHENTICATED', 'You are no longer signed in. Sign in, then start again.')
}

/**
 * Finds the session of a cookie, and records its use.
 * @param token the cookie's value
 * @returns null if there is none or it has ended
 */
export async function findSession(deps: SessionDeps, token: string): Promise<Session | null> {
  const row = await sessionByHash(deps.db.read, hashToken(token))
  const at = deps.now()
  if (row === undefined || !isSessionValid(row, at)) return null
  if (at - row.last_seen_at >= TOUCH_MS) await deps.db.write((tx) => touchSession(tx, row.hash, at))
  const { id, owner_id: ownerId, signed_in_at: signedInAt, method, hash } = row
  return {
    id,
    ownerId,
    personId: ownerId,
    membership: null,
    limitedTo: row.limited_to,
    apiKey: null,
    signedInAt,
    method,
    hash,
  }
}

/** Whether a session found earlier is still valid, and still acts for its organisation. Does not count as use of the session. */
export async function isStillSignedIn(
  deps: Pick<SessionDeps, 'db' | 'now'>,
  session: Session,
): Promise<boolean> {
  const row = await sessionByHash(deps.db.read, session.hash)
  if (row === undefined || !isSessionValid(row, deps.now())) return false
  if (session.membership === null) return true
  const live = await liveMembershipById(deps.db.read, session.membership.id)
  return live !== undefined && live.suspended_at === null
}

/** Whether a session is within its absolute and its idle lifetime. */
export function isSessionValid(row: SessionRow, now: number): boolean {
  return row.expires_at > now && row.last_seen_at + SESSION_IDLE_MS > now
}

/** Deletes a session, to sign out. */
export async function endSession(deps: SessionDeps, session: Session): Promise<void> {
  await deps.db.write((tx) => deleteSession(tx, session.hash))
}

/**
 * Call before sensitive actions.
 * @param now milliseconds since the Unix epoch
 * @throws CodedError RECENT_SIGN_IN_REQUIRED if the sign-in is older than 10 minutes
 */
export function assertRecentSignIn(session: Session, now: number): void {
  if (now - session.signedInAt < RECENT_MS) return
  throw new CodedError(
    'RECENT_SIGN_IN_REQUIRED',
    'Sign in again: this needs a sign-in within the last 10 minutes.',
  )
}

/**
 * Call before issuing a claim token.
 * @param now milliseconds since the Unix epoch
 * @throws CodedError RECENT_SIGN_IN_REQUIRED if the sign-in is older than 12 hours
 */
export function assertSignInForClaimToken(session: Session, now: number): void {
  if (now - session.signedInAt < CLAIM_TOKEN_MS) return
  throw new CodedError(
    'RECENT_SIGN_IN_REQUIRED',
    'Sign in again: a claim token needs a sign-in within the last 12 hours.',
  )
}
