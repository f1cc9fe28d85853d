import type { Db, Tx } from '../core/database/database.ts'
import { prepared } from '../core/database/prepared.ts'

/** Puts a picture in the place of the one that the agent has, if any. */
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

/** The picture of an agent and its name among those that there have been. */
export async function avatarOf(db: Db, tail: string) {
  return (await select(db, { tail }))[0]
}
