import {
  CodedError,
  DISPLAY_NAME_PATTERN,
  type Naming,
  requireUsername,
  usernameSkeleton,
} from '@countersign/protocol'
import { insertOwner, ownerLookingLike } from '../agents/owner-table.ts'
import type { Database, OwnerRow, Tx } from '../core/database/database.ts'

export interface AddOwnerDeps {
  readonly db: Database
  readonly naming: Naming
  readonly now: () => number
}

export interface NewOwner {
  readonly username: string
  readonly displayName: string
}

/**
 * Adds an owner.
 * @throws CodedError VALIDATION_ERROR where a name has the wrong form or the username, or one like it, is taken
 */
export async function addOwner(deps: AddOwnerDeps, owner: NewOwner): Promise<OwnerRow> {
  validateOwnerNames(deps.naming, owner)
  return deps.db.write((tx) => insertNewOwner(tx, owner, deps.now()))
}

/** @throws CodedError VALIDATION_ERROR where a name has the wrong form or is reserved */
export function validateOwnerNames(naming: Naming, { username, displayName }: NewOwner): void {
  requireUsername(naming, username)
  if (!DISPLAY_NAME_PATTERN.test(displayName)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'A display name has 1 to 64 characters and is not blank.',
    )
  }
}

/**
 * The part that belongs in a transaction with how the owner will sign in.
 * @throws CodedError VALIDATION_ERROR where the username, or one that looks like it, is taken
 */
export async function insertNewOwner(tx: Tx, owner: NewOwner, at: number): Promise<OwnerRow> {
  await assertUsernameAvailable(tx, owner.username, null)
  return insertOwner(tx, {
    username: owner.username,
    display_name: owner.displayName,
    created_at: at,
    username_skeleton: usernameSkeleton(owner.username),
  })
}

/**
 * @param own the owner who may have it already, or null
 * @throws CodedError VALIDATION_ERROR
 */
export async function assertUsernameAvailable(
  tx: Pick<Tx, 'db'>,
  username: string,
  own: number | null,
): Promise<void> {
  const taken = await ownerLookingLike(tx.db, usernameSkeleton(username))
  if (taken === undefined || taken.id === own) return
  throw new CodedError(
    'VALIDATION_ERROR',
    taken.username === username
      ? `The username ${username} is taken.`
      : `The username ${username} looks like one that is taken.`,
  )
}
