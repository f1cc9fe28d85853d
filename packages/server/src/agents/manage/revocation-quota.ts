import { CodedError } from '@countersign/protocol'
import type { Caller } from '../../accounts/notify-of-access.ts'
import { takeFromFixedQuota } from '../../http/limits/fixed-quota.ts'
import type { Rate } from '../../http/limits/quota.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'

/** What an API key can do that nobody can undo: a stolen one must not end an owner's agents before the owner notices. */
const REVOCATION_RATE: Rate = { quota: 10, windowMs: 3_600_000 }

/**
 * Counts a revocation, or a report of a key, against the quota of the API key that requests it. Sessions have no quota.
 * @throws CodedError RATE_LIMITED after 10 in an hour
 */
export async function takeFromRevocationQuota(
  { db, pepper, now }: Pick<CoreDeps, 'db' | 'pepper' | 'now'>,
  { apiKey }: Caller,
): Promise<void> {
  if (apiKey === null) return
  const key = pepper.authenticate('revocation-quota', apiKey)
  const taken = await db.write((tx) => takeFromFixedQuota(tx, key, REVOCATION_RATE, now()))
  if (taken.isAllowed) return
  const seconds = Math.ceil(taken.retryMs / 1000)
  throw new CodedError(
    'RATE_LIMITED',
    `An API key can revoke agents and report keys ${REVOCATION_RATE.quota} times an hour. Try again in ${seconds} s, suspend the agent meanwhile, or revoke it in the dashboard.`,
    { retryAfterSeconds: seconds },
  )
}
