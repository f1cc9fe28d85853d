import type { Role } from '@countersign/protocol'
import { sql } from 'kysely'
import type { Db, Tx } from '../../database/database.ts'
import type { InvitationRow } from '../../database/schema/organisation-rows.ts'

/** Inserts an invitation, and deletes the one to the same target and those of the organisation that have expired. */
export async function replaceInvitation(tx: Tx, row: InvitationRow): Promise<void> {
  const { org_id, email, username, created_at } = row
  await tx.db
    .deleteFrom('invitations')
    .where('org_id', '=', org_id)
    .where((eb) =>
      eb.or([
        eb('expires_at', '<=', created_at),
        email === null ? eb('username', '=', username) : eb('email', '=', email),
      ]),
    )
    .execute()
  await tx.db.insertInto('invitations').values(row).execute()
}

/** Deletes an invitation. @returns false if it has ended before */
export async function deleteInvitation(tx: Tx, id: string): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('invitations')
    .where('id', '=', id)
    .returning('id')
    .execute()
  return deleted.length > 0
}

/** @returns false if the organisation has no such invitation */
export async function deleteInvitationOf(tx: Tx, orgId: number, id: string): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('invitations')
    .where('org_id', '=', orgId)
    .where('id', '=', id)
    .returning('id')
    .execute()
  return deleted.length > 0
}

/** Deletes the invitations of a member. */
export async function deleteInvitationsBy(tx: Tx, membership: string): Promise<void> {
  await tx.db.deleteFrom('invitations').where('invited_by', '=', membership).execute()
}

/** Deletes the invitations to a username that has a new holder. */
export async function deleteInvitationsToUsername(tx: Tx, username: string): Promise<void> {
  await tx.db.deleteFrom('invitations').where('username', '=', username).execute()
}

/** An invitation with the display name of who invited; null once their account is erased. */
type SentInvitation = InvitationRow & { readonly invited_by_name: string | null }

/** The open invitations of an organisation, newest first. */
export function openInvitationsOf(db: Db, orgId: number, now: number): Promise<SentInvitation[]> {
  return db
    .selectFrom('invitations as invitation')
    .innerJoin('memberships as inviter', 'inviter.id', 'invitation.invited_by')
    .leftJoin('owners as person', 'person.id', 'inviter.person_id')
    .selectAll('invitation')
    .select('person.display_name as invited_by_name')
    .where('invitation.org_id', '=', orgId)
    .where('invitation.expires_at', '>', now)
    .orderBy('invitation.created_at', 'desc')
    .orderBy('invitation.id')
    .execute()
}

/** An open invitation with who sends it. */
export interface OfferedInvitation extends InvitationRow {
  readonly organisation_username: string
  readonly organisation_name: string
  readonly invited_by_name: string
  readonly role: Role
}

/** Open invitations with who sends them; not of organisations or members that the operator has suspended. */
function offered(db: Db, now: number) {
  return db
    .selectFrom('invitations as invitation')
    .innerJoin('owners as organisation', 'organisation.id', 'invitation.org_id')
    .innerJoin('memberships as inviter', 'inviter.id', 'invitation.invited_by')
    .innerJoin('owners as sender', 'sender.id', 'inviter.person_id')
    .selectAll('invitation')
    .select([
      'organisation.username as organisation_username',
      'organisation.display_name as organisation_name',
      'sender.display_name as invited_by_name',
    ])
    .where('invitation.expires_at', '>', now)
    .where('organisation.suspended_at', 'is', null)
    .where('sender.suspended_at', 'is', null)
}

export function offeredInvitation(
  db: Db,
  id: string,
  now: number,
): Promise<OfferedInvitation | undefined> {
  return offered(db, now).where('invitation.id', '=', id).executeTakeFirst()
}

/**
 * The open invitations to a person, newest first: to a verified address of their account, or to its username if the account
 * existed when they were sent.
 */
export function invitationsTo(db: Db, personId: number, now: number): Promise<OfferedInvitation[]> {
  return offered(db, now)
    .innerJoin('owners as person', (join) => join.on('person.id', '=', personId))
    .where('person.kind', '=', 'person')
    .where((eb) =>
      eb.or([
        eb(
          'invitation.email',
          'in',
          eb
            .selectFrom('email_addresses')
            .select(sql<string>`lower(address)`.as('folded'))
            .where('owner_id', '=', personId)
            .where('verified_at', 'is not', null),
        ),
        eb.and([
          eb('invitation.username', '=', eb.ref('person.username')),
          eb('invitation.created_at', '>=', eb.ref('person.created_at')),
        ]),
      ]),
    )
    .orderBy('invitation.created_at', 'desc')
    .orderBy('invitation.id')
    .execute()
}
