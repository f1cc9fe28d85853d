import type { Db, KeyRecoveryRow, Tx } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'

const selectByTail = prepared<{ tail: string }, KeyRecoveryRow>((db, param) =>
  db.selectFrom('key_recoveries').selectAll().where('tail', '=', param('tail')),
)

/** The pending recovery of an agent, if any. */
export async function recoveryOf(db: Db, tail: string): Promise<KeyRecoveryRow | undefined> {
  return (await selectByTail(db, { tail }))[0]
}

/** The pending recoveries that would make a key current. */
export function recoveriesTo(db: Db, key: Uint8Array): Promise<KeyRecoveryRow[]> {
  return db.selectFrom('key_recoveries').selectAll().where('new_key', '=', key).execute()
}

/** @returns false, without a change, if the agent has a pending recovery */
export async function insertRecovery(
  tx: Tx,
  row: Pick<KeyRecoveryRow, 'tail' | 'reason' | 'started_at' | 'token_hash' | 'token_expires_at'>,
): Promise<boolean> {
  const inserted = await tx.db
    .insertInto('key_recoveries')
    .values({ ...row, token_used_at: null, new_key: null, redeemed_at: null, effective_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .returning('tail')
    .execute()
  return inserted.length > 0
}

/** Replaces the token of a pending recovery. @returns false if there is none */
export async function replaceRecoveryToken(
  tx: Tx,
  tail: string,
  token: Pick<KeyRecoveryRow, 'token_hash' | 'token_expires_at'>,
): Promise<boolean> {
  const updated = await tx.db
    .updateTable('key_recoveries')
    .set({ ...token, token_used_at: null })
    .where('tail', '=', tail)
    .returning('tail')
    .execute()
  return updated.length > 0
}

/**
 * Uses the token of a pending recovery for a new key. Of concurrent callers, one gets true.
 * @param use `token_used_at` is the time of the use, `effective_at` when the key becomes current
 */
export async function redeemRecovery(
  tx: Tx,
  recovery: Pick<KeyRecoveryRow, 'tail' | 'token_hash'>,
  use: { readonly newKey: Uint8Array; readonly at: number; readonly effectiveAt: number },
): Promise<boolean> {
  const { newKey, at, effectiveAt } = use
  const updated = await tx.db
    .updateTable('key_recoveries')
    .set({ token_used_at: at, new_key: newKey, redeemed_at: at, effective_at: effectiveAt })
    .where('tail', '=', recovery.tail)
    .where('token_hash', '=', recovery.token_hash)
    .where('token_used_at', 'is', null)
    .where('token_expires_at', '>', at)
    .returning('tail')
    .execute()
  return updated.length > 0
}

/** @returns false if the agent had no pending recovery */
export async function deleteRecovery(tx: Tx, tail: string): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('key_recoveries')
    .where('tail', '=', tail)
    .returning('tail')
    .execute()
  return deleted.length > 0
}
