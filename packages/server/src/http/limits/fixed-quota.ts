import type { Tx } from '../../database/database.ts'
import { emissionInterval, type QuotaState, quotaStateAt, type Rate } from './quota.ts'
import { deleteFullQuotas, takeFromQuota } from './rate-count-table.ts'

/**
 * Takes one from a quota that applies whatever RATE_LIMITS says.
 * @param key HMAC of what is counted
 * @param now milliseconds since the Unix epoch
 * @returns `isAllowed`: whether one was left
 */
export async function takeFromFixedQuota(
  tx: Tx,
  key: Uint8Array,
  rate: Rate,
  now: number,
): Promise<QuotaState> {
  await deleteFullQuotas(tx, now)
  const taking = { now, cost: emissionInterval(rate), window: rate.windowMs }
  const { whole_at, taken } = await takeFromQuota(tx, key, taking)
  return quotaStateAt(rate, whole_at, now, taken === 1)
}
