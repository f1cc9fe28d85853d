import type { Db, Tx } from '../../database/database.ts'

/** The tables with an `org_id` whose rows are deleted with an organisation; the last one is that to which the others refer. */
const ORGANISATION_TABLES = [
  'member_actions',
  'invitations',
  'scim_tokens',
  'scim_users',
  'sso_connections',
  'organisation_settings',
  'memberships',
] as const

/** Deletes what is stored of an organisation, except what every owner has. Other owners' links to its identity provider too. */
export async function deleteOrganisationRecords(tx: Tx, orgId: number): Promise<void> {
  const connections = await tx.db
    .selectFrom('sso_connections')
    .select('id')
    .where('org_id', '=', orgId)
    .execute()
  for (const { id } of connections) {
    for (const table of ['sign_in_identities', 'flows'] as const) {
      await tx.db.deleteFrom(table).where('provider', '=', `sso:${id}`).execute()
    }
  }
  await tx.db.deleteFrom('sessions').where('limited_to', '=', orgId).execute()
  for (const table of ORGANISATION_TABLES) {
    await tx.db.deleteFrom(table).where('org_id', '=', orgId).execute()
  }
}

/** Leaves what an organisation stores of a person without the person: the memberships that have ended, and its directory. */
export async function forgetPerson(tx: Tx, personId: number, username: string): Promise<void> {
  for (const table of ['memberships', 'scim_users'] as const) {
    await tx.db
      .updateTable(table)
      .set({ person_id: null })
      .where('person_id', '=', personId)
      .execute()
  }
  await tx.db
    .deleteFrom('invitations')
    .where((eb) =>
      eb.or([
        eb('username', '=', username),
        eb(
          'email',
          'in',
          eb.selectFrom('email_addresses').select('address').where('owner_id', '=', personId),
        ),
      ]),
    )
    .execute()
}

/** Accounts that the identity provider of an organisation manages, at most `limit`. */
export async function managedAccountsOf(db: Db, orgId: number, limit: number): Promise<number[]> {
  const rows = await db
    .selectFrom('memberships as membership')
    .innerJoin('owners as person', 'person.id', 'membership.person_id')
    .select('person.id')
    .distinct()
    .where('membership.org_id', '=', orgId)
    .where('person.kind', '=', 'member')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** The memberships of a person, ended ones too, oldest first. */
export function membershipsOfPerson(db: Db, personId: number) {
  return db
    .selectFrom('memberships as membership')
    .innerJoin('owners as organisation', 'organisation.id', 'membership.org_id')
    .selectAll('membership')
    .select('organisation.username')
    .where('membership.person_id', '=', personId)
    .orderBy('membership.created_at')
    .execute()
}

/** What a member did, oldest first. */
export function actionsOfMember(db: Db, membership: string) {
  return db
    .selectFrom('member_actions')
    .selectAll()
    .where('membership', '=', membership)
    .orderBy('id')
    .execute()
}

/** The transfers that an owner sent or received, with the usernames of both, oldest first. */
export function transfersOf(db: Db, ownerId: number) {
  return db
    .selectFrom('transfers as transfer')
    .innerJoin('owners as sender', 'sender.id', 'transfer.from_owner')
    .innerJoin('owners as receiver', 'receiver.id', 'transfer.to_owner')
    .selectAll('transfer')
    .select([
      'sender.username as from_username',
      'sender.deleted_at as from_deleted_at',
      'receiver.username as to_username',
      'receiver.deleted_at as to_deleted_at',
    ])
    .where((eb) => eb.or([eb('from_owner', '=', ownerId), eb('to_owner', '=', ownerId)]))
    .orderBy('transfer.created_at')
    .orderBy('transfer.id')
    .execute()
}

/** The tails of the agents of transfers. */
export async function agentsOfTransfers(db: Db, ids: readonly string[]) {
  // PostgreSQL rejects `in ()`.
  if (ids.length === 0) return []
  return db
    .selectFrom('transfer_agents')
    .select(['transfer_id', 'tail'])
    .where('transfer_id', 'in', ids)
    .orderBy('tail')
    .execute()
}

/** Reads what is stored of an organisation, except what every owner has. Reads no secrets or hashes of secrets. */
export async function readOrganisationRecords(db: Db, orgId: number) {
  const [members, invitations, settings, domain, sso, tokens, users, actions] = await Promise.all([
    db
      .selectFrom('memberships as membership')
      .leftJoin('owners as person', 'person.id', 'membership.person_id')
      .selectAll('membership')
      .select('person.display_name')
      .where('membership.org_id', '=', orgId)
      .orderBy('membership.created_at')
      .orderBy('membership.id')
      .execute(),
    db
      .selectFrom('invitations')
      .selectAll()
      .where('org_id', '=', orgId)
      .orderBy('created_at')
      .execute(),
    db
      .selectFrom('organisation_settings')
      .selectAll()
      .where('org_id', '=', orgId)
      .executeTakeFirst(),
    db
      .selectFrom('organisation_domains')
      .selectAll()
      .where('org_id', '=', orgId)
      .executeTakeFirst(),
    db.selectFrom('sso_connections').selectAll().where('org_id', '=', orgId).executeTakeFirst(),
    db
      .selectFrom('scim_tokens')
      .select(['id', 'created_by', 'created_at', 'expires_at', 'last_used_at'])
      .where('org_id', '=', orgId)
      .orderBy('created_at')
      .execute(),
    db
      .selectFrom('scim_users')
      .selectAll()
      .where('org_id', '=', orgId)
      .orderBy('created_at')
      .orderBy('id')
      .execute(),
    db.selectFrom('member_actions').selectAll().where('org_id', '=', orgId).orderBy('id').execute(),
  ])
  return { members, invitations, settings, domain, sso, tokens, users, actions }
}
