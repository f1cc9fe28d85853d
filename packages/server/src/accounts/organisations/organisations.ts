import {
  CodedError,
  type CreatedOrganisation,
  type NewOrganisation,
  randomBase58,
  usernameSkeleton,
} from '@countersign/protocol'
import type { Database } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { recordAccountActivity } from '../account-activity-table.ts'
import { reservedNames } from '../identity-of-owner.ts'
import { assertOwnerNotSuspended } from '../owner-suspension.ts'
import { insertOwner } from '../owner-table.ts'
import { assertUsernameAvailable, validateOwnerNames } from '../owners/add-owner.ts'
import { roleInSession } from '../owners/roles.ts'
import { assertStillSignedIn, type Session } from '../owners/session.ts'
import { hasCurrentVerification } from '../verification-table.ts'
import { assertMayBeAdmin } from './members.ts'
import { insertMembership, organisationsOf } from './membership-table.ts'

const ID_LENGTH = 12

/** @returns `mb_` and 12 random base58 characters */
export function newMembershipId(randomBytes: CoreDeps['randomBytes']): string {
  return `mb_${randomBase58(ID_LENGTH, randomBytes)}`
}

/**
 * Creates an organisation, of which the person is the first admin. It is an owner of its own: nothing of the person's account
 * moves to it, and none of their verifications counts for it.
 * @throws CodedError VALIDATION_ERROR if a name is invalid or taken, IDENTITY_REQUIRED if the person has no current
 *   verification, FORBIDDEN if they are suspended, CONFLICT if they are an admin of 5 organisations, UNAUTHENTICATED
 */
export async function createOrganisation(
  deps: CoreDeps,
  session: Session,
  { username, displayName }: NewOrganisation,
): Promise<CreatedOrganisation> {
  const { db, site, pepper, now, randomBytes } = deps
  validateOwnerNames(site.naming, { username, displayName }, reservedNames(deps))
  const public_id = `org_${randomBase58(ID_LENGTH, randomBytes)}`
  const membership = newMembershipId(randomBytes)
  const { personId } = session
  await db.write(async (tx) => {
    const at = now()
    await assertStillSignedIn(tx, session)
    await assertOwnerNotSuspended(tx.db, personId)
    if (!(await hasCurrentVerification(tx.db, personId, at))) {
      throw new CodedError(
        'IDENTITY_REQUIRED',
        'Verify your own identity first. Then you can create an organisation.',
      )
    }
    await assertMayBeAdmin(tx, personId)
    await assertUsernameAvailable(tx, pepper, username, null, at, personId)
    const { id } = await insertOwner(tx, {
      kind: 'organisation',
      public_id,
      username,
      display_name: displayName,
      created_at: at,
      username_skeleton: usernameSkeleton(username),
    })
    await insertMembership(tx, {
      id: membership,
      org_id: id,
      person_id: personId,
      role: 'admin',
      role_since: at,
      source: 'manual',
      created_at: at,
      ended_at: null,
      end_reason: null,
    })
    const details = { organisation: username, role: 'admin' }
    await recordAccountActivity(tx, { ownerId: personId, type: 'owner.joined', details, at })
  })
  return { username, displayName, role: 'admin' }
}

/** The organisations that a session can act for, with their ids and its role in each. */
export async function describeOrganisations(
  { db, now }: { readonly db: Database; readonly now: () => number },
  { personId, limitedTo }: Session,
) {
  const all = await organisationsOf(db.read, personId)
  const within = all.filter(({ id }) => limitedTo === null || id === limitedTo)
  return Promise.all(
    within.map(async ({ id, username, display_name, role }) => ({
      id,
      username,
      displayName: display_name,
      role: roleInSession(role, limitedTo !== null),
      verified: await hasCurrentVerification(db.read, id, now()),
    })),
  )
}
