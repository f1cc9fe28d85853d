import { CodedError } from '@countersign/protocol'
import type { Tx } from '../core/database/database.ts'
import { passkeysOfOwner } from './passkey-table.ts'
import { signInIdentitiesOfOwner } from './sign-in-identity-table.ts'

/**
 * Refuses to take away the last way in. Recovery codes are no way in: they run out.
 * @throws CodedError VALIDATION_ERROR, which undoes what the transaction has taken away
 */
export async function requireWayIn(tx: Tx, ownerId: number): Promise<void> {
  const passkeys = await passkeysOfOwner(tx.db, ownerId)
  if (passkeys.length > 0) return
  if ((await signInIdentitiesOfOwner(tx.db, ownerId)).length > 0) return
  throw new CodedError(
    'VALIDATION_ERROR',
    'This is the last way into the account. Add another passkey first.',
  )
}
