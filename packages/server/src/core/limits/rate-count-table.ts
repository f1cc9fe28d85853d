import { sql } from 'kysely'
import type { Db, RateCountRow, Tx } from '../database/database.ts'

/** What one more takes, and how much there is to take from. Milliseconds. */
export interface Taking {
  readonly now: number
  /** How long it takes until one that was taken is there again. */
  readonly cost: number
  /** How long it takes until all are. */
  readonly window: number
}

/**
 * Takes one from a quota where there is one left: whoever comes at the same time, the row decides.
 * A moment further away than the window, from a clock that is ahead, counts as one at its end.
 * @param key HMAC of what is counted
 * @returns when the quota will be whole, and whether one was taken
 */
export async function takeOne(
  tx: Tx,
  key: Uint8Array,
  { now, cost, window }: Taking,
): Promise<Pick<RateCountRow, 'whole_at' | 'taken'>> {
  const n = sql`cast(${now} as double precision)`
  const end = sql`cast(${now + window} as double precision)`
  const from = sql`case when rate_counts.whole_at < ${n} then ${n}
    when rate_counts.whole_at > ${end} then ${end} else rate_counts.whole_at end`
  const price = sql`cast(${cost} as double precision)`
  // The sum of prices is inexact in the last digits.
  const fits = sql`${from} + ${price} <= ${end} + 0.001`
  const { rows } = await sql<RateCountRow>`
    insert into rate_counts (key, whole_at, taken) values (${key}, ${n} + ${price}, 1)
    on conflict (key) do update set
      whole_at = case when ${fits} then ${from} + ${price} else ${from} end,
      taken = case when ${fits} then 1 else 0 end
    returning whole_at, taken`.execute(tx.db)
  return rows[0] as RateCountRow
}

/** When a quota will be whole; 0 where it is. */
export async function wholeAt(db: Db, key: Uint8Array): Promise<number> {
  const row = await db
    .selectFrom('rate_counts')
    .select('whole_at')
    .where('key', '=', key)
    .executeTakeFirst()
  return row?.whole_at ?? 0
}

/** A quota that is whole needs no row. */
export async function deleteWhole(tx: Tx, now: number): Promise<void> {
  await tx.db.deleteFrom('rate_counts').where('whole_at', '<=', now).execute()
}
