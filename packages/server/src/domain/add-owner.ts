import { CodedError, DISPLAY_NAME_PATTERN, USERNAME_PATTERN } from '@countersign/protocol'
import type { Database, OwnerRow } from '../storage/database.ts'
import { insertOwner, ownerByUsername } from '../storage/owners.ts'

export interface AddOwnerDeps {
  readonly db: Database
  readonly now: () => number
}

/**
 * Adds an owner.
 * @throws CodedError VALIDATION_ERROR where a name has the wrong form or the username is taken
 */
export async function addOwner(
  deps: AddOwnerDeps,
  owner: { readonly username: string; readonly displayName: string },
): Promise<OwnerRow> {
  const { username, displayName } = owner
  if (!USERNAME_PATTERN.test(username)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'A username has 3 to 32 characters out of a-z, 0-9 and -.',
    )
  }
  if (!DISPLAY_NAME_PATTERN.test(displayName)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'A display name has 1 to 64 characters and is not blank.',
    )
  }
  return deps.db.write(async (tx) => {
    if ((await ownerByUsername(tx.db, username)) !== undefined) {
      throw new CodedError('VALIDATION_ERROR', `The username ${username} is taken.`)
    }
    return insertOwner(tx, { username, display_name: displayName, created_at: deps.now() })
  })
}
