import type { Db, OwnerRow, Tx } from '../../../database/database.ts'
import type { SsoConnectionRow } from '../../../database/schema/organisation-rows.ts'

export async function insertConnection(tx: Tx, row: SsoConnectionRow): Promise<void> {
  await tx.db.insertInto('sso_connections').values(row).execute()
}

export async function updateConnection(
  tx: Tx,
  id: string,
  values: Omit<SsoConnectionRow, 'id' | 'org_id' | 'created_at'>,
): Promise<void> {
  await tx.db.updateTable('sso_connections').set(values).where('id', '=', id).execute()
}

export async function deleteConnection(tx: Tx, id: string): Promise<void> {
  await tx.db.deleteFrom('sso_connections').where('id', '=', id).execute()
}

export function connectionOf(db: Db, orgId: number): Promise<SsoConnectionRow | undefined> {
  return db.selectFrom('sso_connections').selectAll().where('org_id', '=', orgId).executeTakeFirst()
}

/** A connection with the username of its organisation. */
export type OrganisationConnection = SsoConnectionRow & Pick<OwnerRow, 'username'>

function connections(db: Db) {
  return db
    .selectFrom('sso_connections as connection')
    .innerJoin('owners as organisation', 'organisation.id', 'connection.org_id')
    .selectAll('connection')
    .select('organisation.username')
    .where('organisation.deleted_at', 'is', null)
}

export function connectionById(db: Db, id: string): Promise<OrganisationConnection | undefined> {
  return connections(db).where('connection.id', '=', id).executeTakeFirst()
}

/** The connection of the organisation with a username. */
export function connectionByUsername(
  db: Db,
  username: string,
): Promise<OrganisationConnection | undefined> {
  return connections(db).where('organisation.username', '=', username).executeTakeFirst()
}
