import type { SignInLinkRow, Tx } from '../core/database/database.ts'

/** Puts a link in the place of the one that the owner had. */
export async function replaceSignInLink(tx: Tx, row: SignInLinkRow): Promise<void> {
  await tx.db.deleteFrom('sign_in_links').where('owner_id', '=', row.owner_id).execute()
  await tx.db.insertInto('sign_in_links').values(row).execute()
}

/** Uses a link up: of all who come with it, one gets it. */
export function takeSignInLink(tx: Tx, hash: Uint8Array): Promise<SignInLinkRow | undefined> {
  return tx.db
    .deleteFrom('sign_in_links')
    .where('hash', '=', hash)
    .returningAll()
    .executeTakeFirst()
}
