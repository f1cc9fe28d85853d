import { sql } from 'kysely'
import type { Db, RateCountRow, Tx } from '../../database/database.ts'
import { MAX_SKEW_MS } from './quota.ts'

/** The parameters of one take, in milliseconds. */
export interface TakeParameters {
  /** Since 1970. */
  readonly now: number
  /** The emission interval: how long one request of the quota takes to refill. */
  readonly cost: number
  readonly window: number
}

/**
 * Takes one from a quota if one is left. One statement decides, so that concurrent callers never exceed the quota.
 * Stored times are read as by `plausibleResetAt`.
 * @param key HMAC of what is counted
 * @returns `whole_at`: when the quota is full again; `taken`: 1 if one was taken
 */
export async function takeFromQuota(
  tx: Tx,
  key: Uint8Array,
  { now, cost, window }: TakeParameters,
): Promise<Pick<RateCountRow, 'whole_at' | 'taken'>> {
  const n = sql`cast(${now} as double precision)`
  const end = sql`cast(${now + window} as double precision)`
  const far = sql`cast(${now + window + MAX_SKEW_MS} as double precision)`
  // plausibleResetAt in SQL.
  const from = sql`case when rate_counts.whole_at < ${n} or rate_counts.whole_at > ${far} then ${n}
    when rate_counts.whole_at > ${end} then ${end} else rate_counts.whole_at end`
  const price = sql`cast(${cost} as double precision)`
  // 0.001 ms of tolerance: a sum of many intervals has rounding errors.
  const fits = sql`${from} + ${price} <= ${end} + 0.001`
  const { rows } = await sql<RateCountRow>`
    insert into rate_counts (key, whole_at, taken) values (${key}, ${n} + ${price}, 1)
    on conflict (key) do update set
      whole_at = case when ${fits} then ${from} + ${price} else ${from} end,
      taken = case when ${fits} then 1 else 0 end
    returning whole_at, taken`.execute(tx.db)
  return rows[0] as RateCountRow
}

/** When a quota is full again, milliseconds since 1970; 0 if nothing has been taken from it. */
export async function quotaResetAt(db: Db, key: Uint8Array): Promise<number> {
  const row = await db
    .selectFrom('rate_counts')
    .select('whole_at')
    .where('key', '=', key)
    .executeTakeFirst()
  return row?.whole_at ?? 0
}

/** Deletes the rows of full quotas, which mean the same as no row. */
export async function deleteFullQuotas(tx: Tx, now: number): Promise<void> {
  await tx.db.deleteFrom('rate_counts').where('whole_at', '<=', now).execute()
}
