import type { Db, Tx } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'

/** Stores an agent's uploaded picture, a WebP, replacing the previous one. */
export async function upsertAvatar(tx: Tx, tail: string, webp: Uint8Array): Promise<void> {
  await tx.db
    .insertInto('avatars')
    .values({ tail, webp })
    .onConflict((conflict) => conflict.column('tail').doUpdateSet({ webp }))
    .execute()
}

export async function deleteAvatar(tx: Tx, tail: string): Promise<void> {
  await tx.db.deleteFrom('avatars').where('tail', '=', tail).execute()
}

const select = prepared<{ tail: string }, { webp: Uint8Array; avatar: string | null }>(
  (db, param) =>
    db
      .selectFrom('avatars')
      .innerJoin('agents', 'agents.tail', 'avatars.tail')
      .select(['avatars.webp', 'agents.avatar'])
      .where('avatars.tail', '=', param('tail')),
)

/** The uploaded picture of an agent and its version id, or undefined. */
export async function avatarOf(db: Db, tail: string) {
  return (await select(db, { tail }))[0]
}
