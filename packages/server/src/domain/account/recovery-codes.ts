import { replaceRecoveryCodes } from '../../storage/recovery-codes.ts'
import type { OwnerDeps } from '../owner-deps.ts'
import { newRecoveryCodes } from '../sign-in/recovery-codes.ts'

/** Makes ten new codes, which end the old ones. @returns them, for the owner's eyes, once */
export async function renewRecoveryCodes(
  { db, now, randomBytes }: Pick<OwnerDeps, 'db' | 'now' | 'randomBytes'>,
  ownerId: number,
): Promise<readonly string[]> {
  const { codes, hashes } = newRecoveryCodes(randomBytes)
  await db.write((tx) => replaceRecoveryCodes(tx, ownerId, hashes, now()))
  return codes
}
