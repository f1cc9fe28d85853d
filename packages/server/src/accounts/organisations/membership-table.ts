import type { Role } from '@countersign/protocol'
import { sql } from 'kysely'
import type { Db, OwnerRow, Tx } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import type { MembershipRow } from '../../database/schema/organisation-rows.ts'

export async function insertMembership(tx: Tx, row: MembershipRow): Promise<void> {
  await tx.db.insertInto('memberships').values(row).execute()
}

/** Why a membership ended. */
export type MembershipEndReason =
  | 'removed'
  | 'left'
  | 'scim'
  | 'no_group'
  | 'sso_ended'
  | 'account_deleted'
  | 'organisation_deleted'
  | 'operator'

/** Ends a membership. @returns it as it is now; undefined, without a change, if it has ended already */
export function endMembershipRow(
  tx: Tx,
  id: string,
  reason: MembershipEndReason,
  at: number,
): Promise<MembershipRow | undefined> {
  return tx.db
    .updateTable('memberships')
    .set({ ended_at: at, end_reason: reason })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

/** Gives a live membership another role. @returns it as it is now; undefined, without a change, if it has ended */
export function updateRole(
  tx: Tx,
  id: string,
  role: Pick<MembershipRow, 'role' | 'role_since' | 'source'>,
): Promise<MembershipRow | undefined> {
  return tx.db
    .updateTable('memberships')
    .set(role)
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

/** The live memberships whose role the identity provider of an organisation sets. */
export function membershipsBySso(db: Db, orgId: number): Promise<Pick<MembershipRow, 'id'>[]> {
  return db
    .selectFrom('memberships')
    .select('id')
    .where('org_id', '=', orgId)
    .where('source', '=', 'sso')
    .where('ended_at', 'is', null)
    .execute()
}

/** A live membership with what decides about a request: the organisation, and whether its person is suspended. */
export type LiveMembership = Pick<
  MembershipRow,
  'id' | 'org_id' | 'role' | 'role_since' | 'source'
> & {
  readonly person_id: number
  readonly suspended_at: number | null
}

function selectLiveMemberships(db: Db) {
  return db
    .selectFrom('memberships as membership')
    .innerJoin('owners as person', 'person.id', 'membership.person_id')
    .select([
      'membership.id',
      'membership.org_id',
      'membership.role',
      'membership.role_since',
      'membership.source',
      'person.id as person_id',
      'person.suspended_at',
    ])
    .where('membership.ended_at', 'is', null)
}

const selectLive = prepared<{ username: string; personId: number }, LiveMembership>((db, param) =>
  selectLiveMemberships(db)
    .innerJoin('owners as organisation', 'organisation.id', 'membership.org_id')
    .where('organisation.username', '=', param('username'))
    .where('organisation.kind', '=', 'organisation')
    .where('membership.person_id', '=', param('personId')),
)

/** The live membership of a person in the organisation with a username. */
export async function liveMembership(
  db: Db,
  username: string,
  personId: number,
): Promise<LiveMembership | undefined> {
  return (await selectLive(db, { username, personId }))[0]
}

const selectLiveIn = prepared<{ orgId: number; personId: number }, LiveMembership>((db, param) =>
  selectLiveMemberships(db)
    .where('membership.org_id', '=', param('orgId'))
    .where('membership.person_id', '=', param('personId')),
)

/** The live membership of a person in an organisation. */
export async function liveMembershipIn(
  db: Db,
  orgId: number,
  personId: number,
): Promise<LiveMembership | undefined> {
  return (await selectLiveIn(db, { orgId, personId }))[0]
}

const selectLiveById = prepared<{ id: string }, LiveMembership>((db, param) =>
  selectLiveMemberships(db).where('membership.id', '=', param('id')),
)

export async function liveMembershipById(db: Db, id: string): Promise<LiveMembership | undefined> {
  return (await selectLiveById(db, { id }))[0]
}

/** Members as other members see them beside what they did, by the ids of their memberships. */
export type MemberNames = ReadonlyMap<string, { readonly id: string; readonly displayName: string }>

/** The names of those of some memberships that are live. */
export async function liveMemberNames(db: Db, ids: readonly string[]): Promise<MemberNames> {
  // PostgreSQL rejects `in ()`.
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('memberships as membership')
    .innerJoin('owners as person', 'person.id', 'membership.person_id')
    .select(['membership.id', 'person.display_name as displayName'])
    .where('membership.id', 'in', ids)
    .where('membership.ended_at', 'is', null)
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** A member with their account. */
export type MemberRow = MembershipRow &
  Pick<OwnerRow, 'username' | 'display_name' | 'kind'> & {
    /** An admin whom neither the identity provider nor the directory of the organisation can lock out. */
    readonly is_emergency: 0 | 1
  }

const isEmergencyAdmin = sql<0 | 1>`case when membership.role = 'admin'
  and exists (select 1 from passkeys where passkeys.owner_id = membership.person_id)
  and not exists (select 1 from scim_users where scim_users.org_id = membership.org_id
    and scim_users.person_id = membership.person_id)
  then 1 else 0 end`

const hasAdmins = sql<0 | 1>`max(case when membership.role = 'admin' then 1 else 0 end)`

/** Whether an organisation has an admin, an emergency admin, and an identity provider of its own. */
export async function adminsOf(
  db: Db,
  orgId: number,
): Promise<{
  readonly hasAdmin: boolean
  readonly hasEmergency: boolean
  readonly hasSso: boolean
}> {
  const row = await db
    .selectFrom('memberships as membership')
    .select(hasAdmins.as('admin'))
    .select(sql<0 | 1>`max(${isEmergencyAdmin})`.as('emergency'))
    .where('membership.org_id', '=', orgId)
    .where('membership.ended_at', 'is', null)
    .executeTakeFirst()
  const sso = await db
    .selectFrom('sso_connections')
    .select('id')
    .where('org_id', '=', orgId)
    .executeTakeFirst()
  return {
    hasAdmin: row?.admin === 1,
    hasEmergency: row?.emergency === 1,
    hasSso: sso !== undefined,
  }
}

/** A live member of an organisation, by the id of their membership. */
export function memberOf(db: Db, orgId: number, id: string): Promise<MemberRow | undefined> {
  return selectMembers(db, orgId).where('membership.id', '=', id).executeTakeFirst()
}

export async function countMembers(db: Db, orgId: number): Promise<number> {
  const { count } = await db
    .selectFrom('memberships')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('org_id', '=', orgId)
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The display names of the persons of memberships, ended ones included, unless their accounts are erased. */
export async function memberNames(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  // PostgreSQL rejects `in ()`.
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('memberships as membership')
    .innerJoin('owners as person', 'person.id', 'membership.person_id')
    .select(['membership.id', 'person.display_name'])
    .where('membership.id', 'in', ids)
    .execute()
  return new Map(rows.map((row) => [row.id, row.display_name]))
}

/** The live members of an organisation with their accounts, in the order in which they joined. */
export function membersOf(db: Db, orgId: number): Promise<MemberRow[]> {
  return selectMembers(db, orgId)
    .orderBy('membership.created_at')
    .orderBy('membership.id')
    .execute()
}

function selectMembers(db: Db, orgId: number) {
  return db
    .selectFrom('memberships as membership')
    .innerJoin('owners as person', 'person.id', 'membership.person_id')
    .selectAll('membership')
    .select(['person.username', 'person.display_name', 'person.kind'])
    .select(isEmergencyAdmin.as('is_emergency'))
    .where('membership.org_id', '=', orgId)
    .where('membership.ended_at', 'is', null)
}

/**
 * The persons who get the e-mails of an organisation: managers and admins, and the responsible person of the agent that a
 * notification is about.
 * @param tail of the agent; null: it is about none
 */
export async function informedMembers(
  db: Db,
  orgId: number,
  tail: string | null,
): Promise<number[]> {
  const rows = await db
    .selectFrom('memberships')
    .select('person_id')
    .where('org_id', '=', orgId)
    .where('ended_at', 'is', null)
    .where('person_id', 'is not', null)
    .where((eb) =>
      eb.or([
        eb('role', 'in', ['manager', 'admin']),
        eb(
          'id',
          'in',
          eb.selectFrom('agents').select('responsible').where('tail', '=', tail).$castTo<string>(),
        ),
      ]),
    )
    .execute()
  return rows.map(({ person_id }) => Number(person_id))
}

/** The live members of all organisations, by how they got their role. */
export async function countMembersBySource(
  db: Db,
): Promise<Record<MembershipRow['source'], number>> {
  const rows = await db
    .selectFrom('memberships')
    .select(['source', (eb) => eb.fn.countAll().as('count')])
    .where('ended_at', 'is', null)
    .groupBy('source')
    .execute()
  const counts = { manual: 0, sso: 0 }
  for (const { source, count } of rows) counts[source] = Number(count)
  return counts
}

/** An organisation of a person. */
type OrganisationOf = Pick<OwnerRow, 'id' | 'username' | 'display_name'> & {
  readonly role: Role
  readonly membership: string
}

/** The organisations of a person with their role, by username. */
export function organisationsOf(db: Db, personId: number): Promise<OrganisationOf[]> {
  return db
    .selectFrom('memberships as membership')
    .innerJoin('owners as organisation', 'organisation.id', 'membership.org_id')
    .select([
      'organisation.id',
      'organisation.username',
      'organisation.display_name',
      'membership.role',
      'membership.id as membership',
    ])
    .where('membership.person_id', '=', personId)
    .where('membership.ended_at', 'is', null)
    .orderBy('organisation.username')
    .execute()
}
