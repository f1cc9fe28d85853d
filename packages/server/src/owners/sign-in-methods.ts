import { CodedError } from '@countersign/protocol'
import type { Tx } from '../core/database/database.ts'
import type { CoreDeps } from '../core/deps.ts'
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
 * Refuses to take away the last way in. Recovery codes are no way in: they run out.
 * @throws CodedError VALIDATION_ERROR, which undoes what the transaction has taken away
 */
export async function assertSignInMethodLeft(tx: Tx, ownerId: number): Promise<void> {
  const passkeys = await passkeysOfOwner(tx.db, ownerId)
  if (passkeys.length > 0) return
  if ((await signInIdentitiesOfOwner(tx.db, ownerId)).length > 0) return
  throw new CodedError(
    'VALIDATION_ERROR',
    'This is the last way into the account. Add another passkey first.',
  )
}

/**
 * Makes ten new codes, which end the old ones.
 * @returns them, for the owner's eyes, once
 * @throws CodedError UNAUTHENTICATED where the session has ended meanwhile
 */
export async function renewRecoveryCodes(
  { db, now, randomBytes }: Pick<CoreDeps, 'db' | 'now' | 'randomBytes'>,
  session: Session,
): Promise<readonly string[]> {
  const { codes, hashes } = newRecoveryCodes(randomBytes)
  await db.write(async (tx) => {
    await assertStillSignedIn(tx, session)
    await replaceRecoveryCodes(tx, session.ownerId, hashes, now())
  })
  return codes
}

/**
 * Ends one of an owner's sessions, the current one included.
 * @throws CodedError NOT_FOUND
 */
export async function endOneSession(
  { db }: Pick<CoreDeps, 'db'>,
  ownerId: number,
  id: string,
): Promise<void> {
  if (await db.write((tx) => deleteSessionById(tx, ownerId, id))) return
  throw new CodedError('NOT_FOUND', 'You have no such session.')
}

/** Ends all of an owner's sessions but the current one. */
export async function endOtherSessions(
  { db }: Pick<CoreDeps, 'db'>,
  { ownerId, id }: Session,
): Promise<void> {
  await db.write((tx) => deleteSessionsOfOwner(tx, ownerId, id))
}

/** @throws CodedError NOT_FOUND, or VALIDATION_ERROR where it is the last way in */
export async function unlinkProvider(
  { db }: Pick<CoreDeps, 'db'>,
  ownerId: number,
  provider: string,
): Promise<void> {
  await db.write(async (tx) => {
    if (!(await deleteSignInIdentity(tx, ownerId, provider))) {
      throw new CodedError('NOT_FOUND', 'You have linked no such account.')
    }
    await assertSignInMethodLeft(tx, ownerId)
  })
}
