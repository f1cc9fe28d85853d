import { CodedError } from '@countersign/protocol'
import { ownerById } from '../../accounts/owner-table.ts'
import {
  assertRecentSignIn,
  assertStillSignedIn,
  type Session,
} from '../../accounts/owners/session.ts'
import { sessionByHash } from '../../accounts/owners/session-table.ts'
import { passkeyById, signInIdentitiesOfOwner } from '../../accounts/owners/sign-in-method-table.ts'
import type { Db, SessionRow, Tx } from '../../database/database.ts'

const HOUR_MS = 3_600_000
/** How long a sign-in method must have existed: an attacker with a stolen session could add one. */
const ESTABLISHED_MS = 72 * HOUR_MS

/**
 * Checks the sign-in that starts a recovery: within the last 10 minutes, by a passkey or a provider account that has opened the
 * account for 72 hours, or by the passkey with which the account was made. The operator can issue sign-in links, and recovery codes
 * may lie around: neither is enough, and an organisation's identity provider never is.
 * @param now milliseconds since 1970
 * @throws CodedError RECENT_SIGN_IN_REQUIRED, UNAUTHENTICATED
 */
export async function assertSignInForRecovery(
  tx: Tx,
  session: Session,
  now: number,
): Promise<void> {
  assertRecentSignIn(session, now)
  await assertStillSignedIn(tx, session)
  const row = await sessionByHash(tx.db, session.hash)
  const since = row === undefined ? null : await methodSince(tx.db, row)
  const isEstablished = since !== null && session.limitedTo === null
  if (isEstablished && now - since >= ESTABLISHED_MS) return
  const owner = await ownerById(tx.db, session.ownerId)
  if (isEstablished && row?.method === 'passkey' && since === owner?.created_at) return
  throw new CodedError(
    'RECENT_SIGN_IN_REQUIRED',
    'A recovery needs a sign-in within the last 10 minutes: with the passkey that created your account, or with a passkey or provider that you added at least 72 hours ago. Sign-in links and recovery codes are not enough.',
  )
}

/** When the sign-in method of a session was added; null if it is not enough, or unknown. */
async function methodSince(db: Db, session: SessionRow): Promise<number | null> {
  const { method, owner_id: ownerId } = session
  if (method === 'passkey' && session.passkey_id !== null) {
    const passkey = await passkeyById(db, session.passkey_id)
    return passkey?.owner_id === ownerId ? passkey.created_at : null
  }
  if (method !== 'provider') return null
  const identities = await signInIdentitiesOfOwner(db, ownerId)
  return identities.find(({ provider }) => provider === session.provider)?.created_at ?? null
}
