import { CodedError } from '@countersign/protocol'
import type { Tx } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { recordAccountActivity } from '../account-activity-table.ts'
import { notifyOfSignInMethod } from './notify-of-sign-in-method.ts'
import { newRecoveryCodes } from './recovery-codes.ts'
import { assertStillSignedIn, type Session } from './session.ts'
import { deleteSessionById, deleteSessionsOfOwner } from './session-table.ts'
import {
  deleteSignInIdentity,
  passkeysOfOwner,
  replaceRecoveryCodes,
  signInIdentitiesOfOwner,
} from './sign-in-method-table.ts'

/**
 * Call after removing a sign-in method, in the same transaction. Recovery codes do not count, since they run out.
 * @throws CodedError VALIDATION_ERROR if it was the last one; the transaction then rolls back
 */
export async function assertSignInMethodLeft(tx: Tx, ownerId: number): Promise<void> {
  const passkeys = await passkeysOfOwner(tx.db, ownerId)
  if (passkeys.length > 0) return
  const identities = await signInIdentitiesOfOwner(tx.db, ownerId)
  // An organisation's identity provider does not open the account itself.
  if (identities.some(({ provider }) => !provider.startsWith('sso:'))) return
  throw new CodedError(
    'VALIDATION_ERROR',
    'This is your last sign-in method. Add another passkey first.',
  )
}

/**
 * Replaces an owner's recovery codes by ten new ones.
 * @returns the codes, to show once
 * @throws CodedError UNAUTHENTICATED if the session has ended
 */
export async function renewRecoveryCodes(
  { db, now, randomBytes }: Pick<CoreDeps, 'db' | 'now' | 'randomBytes'>,
  session: Session,
): Promise<readonly string[]> {
  const { codes, hashes } = newRecoveryCodes(randomBytes)
  await db.write(async (tx) => {
    await assertStillSignedIn(tx, session)
    const at = now()
    await replaceRecoveryCodes(tx, session.ownerId, hashes, at)
    await notifyOfSignInMethod(tx, session.ownerId, 'added', { method: 'recovery-codes' }, at)
  })
  return codes
}

/**
 * Ends one of an owner's sessions, which may be the current one.
 * @throws CodedError NOT_FOUND if the owner has no such session
 */
export async function endOneSession(
  { db, now }: Pick<CoreDeps, 'db' | 'now'>,
  ownerId: number,
  id: string,
): Promise<void> {
  await db.write(async (tx) => {
    if (!(await deleteSessionById(tx, ownerId, id))) {
      throw new CodedError('NOT_FOUND', 'You have no such session.')
    }
    await recordEndedSessions(tx, ownerId, 1, now())
  })
}

/** Ends all of an owner's sessions except the current one. */
export async function endOtherSessions(
  { db, now }: Pick<CoreDeps, 'db' | 'now'>,
  { ownerId, id }: Session,
): Promise<void> {
  await db.write(async (tx) => {
    await recordEndedSessions(tx, ownerId, await deleteSessionsOfOwner(tx, ownerId, id), now())
  })
}

function recordEndedSessions(tx: Tx, ownerId: number, count: number, at: number): Promise<void> {
  return recordAccountActivity(tx, {
    ownerId,
    type: 'owner.sessions_ended',
    details: { count },
    at,
  })
}

/** @throws CodedError NOT_FOUND, or VALIDATION_ERROR if it is the last sign-in method */
export async function unlinkProvider(
  { db, now }: Pick<CoreDeps, 'db' | 'now'>,
  ownerId: number,
  provider: string,
): Promise<void> {
  await db.write(async (tx) => {
    if (!(await deleteSignInIdentity(tx, ownerId, provider))) {
      throw new CodedError('NOT_FOUND', 'You have not linked this account.')
    }
    await assertSignInMethodLeft(tx, ownerId)
    await notifyOfSignInMethod(tx, ownerId, 'removed', { method: 'provider', provider }, now())
  })
}
