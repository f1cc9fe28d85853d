import { CodedError, type SignInMethod } from '@countersign/protocol'
import { ownerById } from '../agents/owner-table.ts'
import { hashToken } from '../core/crypto/hash-token.ts'
import type { Database, SessionRow, Tx } from '../core/database/database.ts'
import {
  deleteEndedSessions,
  deleteSession,
  insertSession,
  sessionByHash,
  touchSession,
} from './session-table.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** However much it is used, a session ends. */
export const SESSION_LIFETIME_MS = 30 * DAY_MS
/** And it ends when it is not used. */
const SESSION_IDLE_MS = 7 * DAY_MS
/** How long a sign-in is recent enough for what is dangerous. */
export const RECENT_MS = 10 * MINUTE_MS
/** Use is written down no more often than that. */
const TOUCH_MS = 5 * MINUTE_MS

const TOKEN_BYTES = 32

export interface SessionDeps {
  readonly db: Database
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

/** Someone who is signed in. */
export interface Session {
  readonly id: string
  readonly ownerId: number
  readonly signedInAt: number
  /** SHA-256 of what the cookie holds. */
  readonly hash: Uint8Array
}

/** What is known of a browser that signs in. */
export interface Browser {
  /** The session that the new one takes the place of: whatever somebody planted there ends. */
  readonly session: Session | null
  /** User-Agent, as it came. */
  readonly userAgent: string
}

/**
 * Starts a session, inside the transaction that has found out whose it is.
 * @throws CodedError UNAUTHENTICATED where the account is gone
 * @returns 256 random bits, base64url, for the cookie: the database holds their SHA-256
 */
export async function startSession(
  deps: Pick<SessionDeps, 'now' | 'randomBytes'>,
  tx: Tx,
  owner: { readonly id: number; readonly method: SignInMethod; readonly browser: Browser },
): Promise<string> {
  const token = Buffer.from(deps.randomBytes(TOKEN_BYTES)).toString('base64url')
  const at = deps.now()
  await requireAccount(tx, owner.id)
  if (owner.browser.session !== null) await deleteSession(tx, owner.browser.session.hash)
  await deleteEndedSessions(tx, at, at - SESSION_IDLE_MS)
  await insertSession(tx, {
    hash: hashToken(token),
    id: Buffer.from(deps.randomBytes(9)).toString('base64url'),
    owner_id: owner.id,
    method: owner.method,
    browser: owner.browser.userAgent.slice(0, 256),
    signed_in_at: at,
    last_seen_at: at,
    expires_at: at + SESSION_LIFETIME_MS,
  })
  return token
}

/** Whatever was on its way when an account was deleted, nobody signs in to it. */
async function requireAccount(tx: Tx, ownerId: number): Promise<void> {
  const owner = await ownerById(tx.db, ownerId)
  if (owner === undefined || owner.deleted_at !== null) {
    throw new CodedError('UNAUTHENTICATED', 'There is no such account any more.')
  }
}

/**
 * Asks once more, in the transaction, where time has passed since the session was found.
 * @throws CodedError UNAUTHENTICATED
 */
export async function requireStillSignedIn(tx: Tx, session: Session): Promise<void> {
  if ((await sessionByHash(tx.db, session.hash)) !== undefined) return
  throw new CodedError('UNAUTHENTICATED', 'You are no longer signed in. Sign in, then begin again.')
}

/** The session that a cookie names, or null where there is none, or none any more. */
export async function findSession(deps: SessionDeps, token: string): Promise<Session | null> {
  const row = await sessionByHash(deps.db.read, hashToken(token))
  const at = deps.now()
  if (row === undefined || !isAlive(row, at)) return null
  if (at - row.last_seen_at >= TOUCH_MS) await deps.db.write((tx) => touchSession(tx, row.hash, at))
  return { id: row.id, ownerId: row.owner_id, signedInAt: row.signed_in_at, hash: row.hash }
}

/** Whether a session that was found before has not ended since. To ask is no use of it. */
export async function isSignedInStill(
  deps: Pick<SessionDeps, 'db' | 'now'>,
  session: Session,
): Promise<boolean> {
  const row = await sessionByHash(deps.db.read, session.hash)
  return row !== undefined && isAlive(row, deps.now())
}

/** Whether a session is within its limits, absolute and idle. */
export function isAlive(row: SessionRow, now: number): boolean {
  return row.expires_at > now && row.last_seen_at + SESSION_IDLE_MS > now
}

/** Signs out. */
export async function endSession(deps: SessionDeps, session: Session): Promise<void> {
  await deps.db.write((tx) => deleteSession(tx, session.hash))
}

/**
 * Asks for a recent sign-in, before what is dangerous.
 * @throws CodedError RECENT_SIGN_IN_REQUIRED
 */
export function requireRecent(session: Session, now: number): void {
  if (now - session.signedInAt < RECENT_MS) return
  throw new CodedError(
    'RECENT_SIGN_IN_REQUIRED',
    'Sign in once more: this needs a sign-in within the last 10 minutes.',
  )
}
