import type { Db, Tx } from '../../../database/database.ts'
import { ignoreUniqueViolation } from '../../../database/ignore-unique-violation.ts'
import type { ScimUserRow } from '../../../database/schema/organisation-rows.ts'

const UNIQUE = ['scim_users_name', 'scim_users_external'] as const

/** @returns false, without a change, if another user of the organisation has the name or the external id */
export function insertScimUser(tx: Tx, row: ScimUserRow): Promise<boolean> {
  return ignoreUniqueViolation(tx, UNIQUE, () =>
    tx.db.insertInto('scim_users').values(row).execute(),
  )
}

/** What a client can change of a user. */
export type ScimUserChange = Partial<
  Pick<ScimUserRow, 'external_id' | 'user_name' | 'user_name_folded' | 'display_name' | 'active'>
>

/** @returns false, without a change, if another user of the organisation has the name or the external id */
export function updateScimUser(
  tx: Tx,
  id: string,
  change: ScimUserChange & Pick<ScimUserRow, 'updated_at'>,
): Promise<boolean> {
  return ignoreUniqueViolation(tx, UNIQUE, () =>
    tx.db.updateTable('scim_users').set(change).where('id', '=', id).execute(),
  )
}

/** @returns the deleted user; undefined if the organisation has none with the id */
export function deleteScimUser(
  tx: Tx,
  orgId: number,
  id: string,
): Promise<ScimUserRow | undefined> {
  return tx.db
    .deleteFrom('scim_users')
    .where('org_id', '=', orgId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

export function scimUserById(db: Db, orgId: number, id: string): Promise<ScimUserRow | undefined> {
  return db
    .selectFrom('scim_users')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** The user of an organisation's directory with an external id. */
export function scimUserByExternalId(
  db: Db,
  orgId: number,
  externalId: string,
): Promise<ScimUserRow | undefined> {
  return db
    .selectFrom('scim_users')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('external_id', '=', externalId)
    .executeTakeFirst()
}

/** Ends the link of a user to an account. */
export async function unlinkScimUser(tx: Tx, id: string): Promise<void> {
  await tx.db.updateTable('scim_users').set({ person_id: null }).where('id', '=', id).execute()
}

/**
 * Links the account of a person to an active user, which ends their membership when the user is deactivated.
 * @returns false, without a change, if the user is inactive or linked to another account
 */
export async function linkScimUser(tx: Tx, id: string, personId: number): Promise<boolean> {
  const linked = await tx.db
    .updateTable('scim_users')
    .set({ person_id: personId })
    .where('id', '=', id)
    .where('active', '=', 1)
    .where((eb) => eb.or([eb('person_id', 'is', null), eb('person_id', '=', personId)]))
    .returning('id')
    .execute()
  return linked.length > 0
}

/** Users by one of their names; null: all. */
export interface ScimUserMatch {
  readonly column: 'id' | 'external_id' | 'user_name_folded'
  readonly value: string
}

function matching(db: Db, orgId: number, match: ScimUserMatch | null) {
  const query = db.selectFrom('scim_users').where('org_id', '=', orgId)
  return match === null ? query : query.where(match.column, '=', match.value)
}

/** @param skip how many of the users to leave out, in the order of their creation */
export function scimUsersOf(
  db: Db,
  orgId: number,
  match: ScimUserMatch | null,
  skip: number,
  limit: number,
): Promise<ScimUserRow[]> {
  return matching(db, orgId, match)
    .selectAll()
    .orderBy('created_at')
    .orderBy('id')
    .offset(skip)
    .limit(limit)
    .execute()
}

export async function countScimUsers(
  db: Db,
  orgId: number,
  match: ScimUserMatch | null,
): Promise<number> {
  const { users } = await matching(db, orgId, match)
    .select((eb) => eb.fn.countAll<number>().as('users'))
    .executeTakeFirstOrThrow()
  return Number(users)
}
