import {
  assertHonestName,
  CodedError,
  DISPLAY_NAME_PATTERN,
  type Naming,
  requireUsername,
  usernameSkeleton,
} from '@countersign/protocol'
import type { Database, OwnerRow, Tx } from '../../database/database.ts'
import type { Pepper } from '../../secrets/secrets.ts'
import { insertOwner, ownerBySkeleton } from '../owner-table.ts'
import { assertNotInQuarantine } from '../username-quarantine.ts'

export interface AddOwnerDeps {
  readonly db: Database
  readonly naming: Naming
  readonly pepper: Pepper
  readonly now: () => number
}

export interface NewOwner {
  readonly username: string
  readonly displayName: string
}

/**
 * Adds an owner without a sign-in method; `countersignd owner add` then issues a sign-in link.
 * @throws CodedError VALIDATION_ERROR if a name is invalid, or the username or a lookalike is taken
 */
export async function addOwner(deps: AddOwnerDeps, owner: NewOwner): Promise<OwnerRow> {
  validateOwnerNames(deps.naming, owner)
  return deps.db.write((tx) => insertNewOwner(tx, deps.pepper, owner, deps.now()))
}

/**
 * @param reserved `reservedNames`; an operator may use them
 * @throws CodedError VALIDATION_ERROR if a name is malformed, reserved or imitates a verification
 */
export function validateOwnerNames(
  naming: Naming,
  { username, displayName }: NewOwner,
  reserved: readonly string[] = [],
): void {
  requireUsername(naming, username)
  if (!DISPLAY_NAME_PATTERN.test(displayName)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'A display name has 1 to 64 characters, is not blank, and contains no control characters and no text direction overrides.',
    )
  }
  assertHonestName('A display name', displayName, reserved)
}

/**
 * Inserts an owner within the caller's transaction, which also adds the sign-in method.
 * @param at milliseconds since the Unix epoch
 * @throws CodedError VALIDATION_ERROR if the username or a lookalike is taken
 */
export async function insertNewOwner(
  tx: Tx,
  pepper: Pepper,
  owner: NewOwner,
  at: number,
): Promise<OwnerRow> {
  await assertUsernameAvailable(tx, pepper, owner.username, null, at)
  return insertOwner(tx, {
    username: owner.username,
    display_name: owner.displayName,
    created_at: at,
    username_skeleton: usernameSkeleton(owner.username),
  })
}

/**
 * @param ownerId the owner who may already have this username, or null for a new owner
 * @param at milliseconds since the Unix epoch
 * @param formerOwnerId who may take the username again if they gave it up recently, or null
 * @throws CodedError VALIDATION_ERROR if another owner has the username or a lookalike, or gave it up recently
 */
export async function assertUsernameAvailable(
  tx: Pick<Tx, 'db'>,
  pepper: Pepper,
  username: string,
  ownerId: number | null,
  at: number,
  formerOwnerId = ownerId,
): Promise<void> {
  const wanted = { namespace: 'owner', username, ownerId: formerOwnerId, at } as const
  await assertNotInQuarantine(tx.db, pepper, wanted)
  const taken = await ownerBySkeleton(tx.db, usernameSkeleton(username))
  if (taken === undefined || taken.id === ownerId) return
  throw new CodedError(
    'VALIDATION_ERROR',
    taken.username === username
      ? `The username ${username} is taken.`
      : `The username ${username} looks like one that is taken.`,
  )
}
