import type { NonceStore, UsedNonce } from '@countersign/protocol'
import type { Database, Tx } from '../../database/database.ts'

/** Unexpired nonces of one key. With signatures that are valid for a minute, that is about one request a second. */
const SHARE = 100
/** Nonces are stored for longer than they could be accepted, in case a clock is set back. */
const RETENTION_MS = 10 * 60_000

/** Nonces of signed requests to this service itself, in the database: all nodes and workers share them. */
export function databaseNonceStore(db: Pick<Database, 'write'>, now: () => number): NonceStore {
  return { record: (nonce) => db.write((tx) => record(tx, nonce, now())) }
}

async function record(tx: Tx, { hash, keyid, expiresAt }: UsedNonce, now: number) {
  await tx.db
    .deleteFrom('used_nonces')
    .where('expires_at', '<', now - RETENTION_MS)
    .execute()
  const { count } = await tx.db
    .selectFrom('used_nonces')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('keyid', '=', keyid)
    .where('expires_at', '>=', now)
    .executeTakeFirstOrThrow()
  // A refused request leaves no row, so that refusals cost no storage: nothing was done, so a copy of it may be the first.
  if (Number(count) >= SHARE) return (await isUsed(tx, hash)) ? 'used' : 'share-exceeded'
  const inserted = await tx.db
    .insertInto('used_nonces')
    .values({ hash, keyid, expires_at: expiresAt })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .returning('hash')
    .executeTakeFirst()
  return inserted === undefined ? 'used' : 'fresh'
}

async function isUsed(tx: Tx, hash: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom('used_nonces')
    .select('hash')
    .where('hash', '=', hash)
    .executeTakeFirst()
  return row !== undefined
}
