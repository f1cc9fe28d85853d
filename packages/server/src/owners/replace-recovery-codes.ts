import type { OwnerDeps } from '../core/deps.ts'
import { replaceRecoveryCodes } from './recovery-code-table.ts'
import { newRecoveryCodes } from './recovery-codes.ts'
import { requireStillSignedIn, type Session } from './session.ts'

/**
 * Makes ten new codes, which end the old ones.
 * @returns them, for the owner's eyes, once
 * @throws CodedError UNAUTHENTICATED where the session has ended meanwhile
 */
export async function renewRecoveryCodes(
  { db, now, randomBytes }: Pick<OwnerDeps, 'db' | 'now' | 'randomBytes'>,
  session: Session,
): Promise<readonly string[]> {
  const { codes, hashes } = newRecoveryCodes(randomBytes)
  await db.write(async (tx) => {
    await requireStillSignedIn(tx, session)
    await replaceRecoveryCodes(tx, session.ownerId, hashes, now())
  })
  return codes
}
