import type { ClaimTokenRow, Db, Tx } from '../core/database/database.ts'
import { prepared } from '../core/database/prepared.ts'

/** Makes the owner's token that could still be used unusable. At most one can be there. */
export async function supersedeTokens(tx: Tx, ownerId: number, now: number): Promise<void> {
  await tx.db
    .updateTable('claim_tokens')
    .set({ superseded_at: now })
    .where('owner_id', '=', ownerId)
    .where('used_at', 'is', null)
    .where('superseded_at', 'is', null)
    .execute()
}

export async function insertToken(
  tx: Tx,
  token: Pick<ClaimTokenRow, 'hash' | 'owner_id' | 'created_at' | 'expires_at'>,
): Promise<void> {
  await tx.db
    .insertInto('claim_tokens')
    .values({ ...token, used_at: null, superseded_at: null })
    .execute()
}

const selectByHash = prepared<{ hash: Uint8Array }, ClaimTokenRow>((db, param) =>
  db.selectFrom('claim_tokens').selectAll().where('hash', '=', param('hash')),
)

export async function tokenByHash(db: Db, hash: Uint8Array): Promise<ClaimTokenRow | undefined> {
  return (await selectByHash(db, { hash }))[0]
}

const update = prepared<{ hash: Uint8Array; now: number }, { owner_id: number }>((db, param) =>
  db
    .updateTable('claim_tokens')
    .set({ used_at: param('now') })
    .where('hash', '=', param('hash'))
    .where('used_at', 'is', null)
    .where('superseded_at', 'is', null)
    .where('expires_at', '>', param('now'))
    .returning('owner_id'),
)

/**
 * Redeems a token: of all who race for it, one.
 * @returns the owner who issued it, or undefined where it can no longer be redeemed
 */
export async function redeemToken(
  tx: Tx,
  hash: Uint8Array,
  now: number,
): Promise<number | undefined> {
  return (await update(tx.db, { hash, now }))[0]?.owner_id
}
