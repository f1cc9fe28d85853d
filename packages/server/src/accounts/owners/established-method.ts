import { CodedError } from '@countersign/protocol'
import type { Db, PasskeyRow, SessionRow, Tx } from '../../database/database.ts'
import { liveMembershipById } from '../organisations/membership-table.ts'
import { ownerById } from '../owner-table.ts'
import { assertRecentSignIn, assertStillSignedIn, type Session } from './session.ts'
import { sessionByHash } from './session-table.ts'
import { passkeyById, passkeysOfOwner, signInIdentitiesOfOwner } from './sign-in-method-table.ts'

const HOUR_MS = 3_600_000
/** How long a sign-in method or a role must have existed: an attacker with a stolen session could add one. */
const ESTABLISHED_MS = 72 * HOUR_MS

/**
 * Checks the sign-in for what takes away the right to object: within the last 10 minutes, by a passkey or a provider account that
 * has opened the account for 72 hours, or by the passkey with which the account was made. The operator can issue sign-in links, and
 * recovery codes may lie around: neither is enough, and an organisation's identity provider never is. A member must have had the
 * role for 72 hours too, or have founded the organisation with it.
 * @param now milliseconds since 1970
 * @throws CodedError RECENT_SIGN_IN_REQUIRED, UNAUTHENTICATED
 */
export async function assertEstablishedMethod(
  tx: Tx,
  session: Session,
  now: number,
): Promise<void> {
  assertRecentSignIn(session, now)
  await assertStillSignedIn(tx, session)
  if (!(await isMethodEstablished(tx.db, session, now))) {
    throw new CodedError(
      'RECENT_SIGN_IN_REQUIRED',
      'This needs a sign-in within the last 10 minutes: with the passkey that created your account, or with a passkey or provider that you added at least 72 hours ago. Sign-in links, recovery codes and the sign-in of an organisation are not enough.',
    )
  }
  if (!(await isRoleEstablished(tx.db, session, now))) {
    throw new CodedError(
      'RECENT_SIGN_IN_REQUIRED',
      'You have had your role in this organisation for less than 72 hours. Ask another member, or try again later.',
    )
  }
}

async function isMethodEstablished(db: Db, session: Session, now: number): Promise<boolean> {
  if (session.limitedTo !== null) return false
  const row = await sessionByHash(db, session.hash)
  const since = row === undefined ? null : await methodSince(db, row)
  if (since === null) return false
  if (now - since >= ESTABLISHED_MS) return true
  const person = await ownerById(db, session.personId)
  return row?.method === 'passkey' && since === person?.created_at
}

/** The passkeys of a person that are established: 72 hours old, or the one with which the account was made. */
export async function establishedPasskeys(
  db: Db,
  personId: number,
  now: number,
): Promise<PasskeyRow[]> {
  const madeAt = (await ownerById(db, personId))?.created_at
  const passkeys = await passkeysOfOwner(db, personId)
  return passkeys.filter((each) => {
    return now - each.created_at >= ESTABLISHED_MS || each.created_at === madeAt
  })
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

/** Whether a person acts for their own account, or has had the role for 72 hours, or has founded the organisation with it. */
export async function isRoleEstablished(
  db: Db,
  { membership, ownerId }: Session,
  now: number,
): Promise<boolean> {
  if (membership === null) return true
  const live = await liveMembershipById(db, membership.id)
  if (live === undefined) return false
  if (now - live.role_since >= ESTABLISHED_MS) return true
  return live.role_since === (await ownerById(db, ownerId))?.created_at
}
