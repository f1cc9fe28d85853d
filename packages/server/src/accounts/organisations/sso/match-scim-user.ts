import type { Tx } from '../../../database/database.ts'
import type { ScimUserRow } from '../../../database/schema/organisation-rows.ts'
import { CallbackRefusal } from '../../owners/callback-failure.ts'
import { liveMembershipIn } from '../membership-table.ts'
import { liveScimTokens } from '../scim/scim-token-table.ts'
import { linkScimUser, scimUserByExternalId, unlinkScimUser } from '../scim/scim-user-table.ts'

/**
 * Finds the active user of an organisation's directory who signs in.
 * @param externalId the value of the connection's subject claim; null: the ID token has none
 * @param at milliseconds since the Unix epoch
 * @returns null if the organisation has no directory
 * @throws CallbackRefusal `not-provisioned` if the directory does not have them, or not as an active user
 */
export async function matchScimUser(
  tx: Tx,
  orgId: number,
  externalId: string | null,
  at: number,
): Promise<ScimUserRow | null> {
  const user =
    externalId === null ? undefined : await scimUserByExternalId(tx.db, orgId, externalId)
  if (user?.active === 1) return user
  if (user === undefined && (await liveScimTokens(tx.db, orgId, at)).length === 0) return null
  throw new CallbackRefusal(
    'not-provisioned',
    'The directory of your organisation has no active user for you.',
  )
}

/**
 * Makes the directory able to end a person's membership.
 * @throws CallbackRefusal `already-linked` if it can end that of another member by the same user
 */
export async function linkToScimUser(
  tx: Tx,
  { id, org_id: orgId, person_id: before }: ScimUserRow,
  personId: number,
): Promise<void> {
  if (before === personId) return
  if (before !== null && (await liveMembershipIn(tx.db, orgId, before)) !== undefined) {
    throw new CallbackRefusal(
      'already-linked',
      'Another member of your organisation has signed in as this user.',
    )
  }
  if (before !== null) await unlinkScimUser(tx, id)
  await linkScimUser(tx, id, personId)
}
