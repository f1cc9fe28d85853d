import { sql } from 'kysely'
import type { Db, Tx } from '../../database/database.ts'
import type {
  EmailAddressRow,
  EmailPreferenceRow,
} from '../../database/schema/notification-rows.ts'

/** An owner's addresses, in the order in which they were added. */
export function addressesOfOwner(db: Db, ownerId: number): Promise<EmailAddressRow[]> {
  return db
    .selectFrom('email_addresses')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .orderBy('added_at')
    .orderBy('id')
    .execute()
}

export function addressById(db: Db, id: string): Promise<EmailAddressRow | undefined> {
  return db.selectFrom('email_addresses').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Where accounts have verified this address, in any case, longest ago first. */
export function verifiedHolders(db: Db, address: string): Promise<EmailAddressRow[]> {
  return db
    .selectFrom('email_addresses')
    .selectAll()
    .where(sql`lower(address)`, '=', address.toLowerCase())
    .where('verified_at', 'is not', null)
    .orderBy('verified_at')
    .orderBy('id')
    .execute()
}

/** The verified addresses of owners who have not turned off e-mails of a kind. */
export function wantedAddresses(
  db: Db,
  ownerIds: readonly number[],
  kind: string,
): Promise<EmailAddressRow[]> {
  return db
    .selectFrom('email_addresses as address')
    .selectAll('address')
    .where('address.owner_id', 'in', ownerIds)
    .where('address.verified_at', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('email_preferences as preference')
            .select(sql.lit(1).as('one'))
            .whereRef('preference.owner_id', '=', 'address.owner_id')
            .where('preference.kind', '=', kind)
            .where('preference.enabled', '=', 0),
        ),
      ),
    )
    .execute()
}

export async function insertAddress(tx: Tx, row: EmailAddressRow): Promise<void> {
  await tx.db.insertInto('email_addresses').values(row).execute()
}

/** Replaces the token of an address that is not verified. */
export async function setAddressToken(
  tx: Tx,
  id: string,
  token: Pick<EmailAddressRow, 'token_hash' | 'token_expires_at'>,
): Promise<void> {
  await tx.db
    .updateTable('email_addresses')
    .set(token)
    .where('id', '=', id)
    .where('verified_at', 'is', null)
    .execute()
}

/** Uses up a token. Of concurrent callers, one gets the row. @param at milliseconds since the Unix epoch */
export function redeemAddressToken(
  tx: Tx,
  id: string,
  hash: Uint8Array,
  at: number,
): Promise<EmailAddressRow | undefined> {
  return tx.db
    .updateTable('email_addresses')
    .set({ verified_at: at, token_hash: null, token_expires_at: null })
    .where('id', '=', id)
    .where('token_hash', '=', hash)
    .where('token_expires_at', '>', at)
    .returningAll()
    .executeTakeFirst()
}

export function deleteAddress(
  tx: Tx,
  ownerId: number,
  id: string,
): Promise<EmailAddressRow | undefined> {
  return tx.db
    .deleteFrom('email_addresses')
    .where('owner_id', '=', ownerId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** The kinds of notification for which an owner has made a choice. */
export function preferencesOfOwner(db: Db, ownerId: number): Promise<EmailPreferenceRow[]> {
  return db
    .selectFrom('email_preferences')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .orderBy('kind')
    .execute()
}

export async function setPreference(tx: Tx, row: EmailPreferenceRow): Promise<void> {
  await tx.db
    .insertInto('email_preferences')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['owner_id', 'kind']).doUpdateSet({ enabled: row.enabled }),
    )
    .execute()
}
