import type { Tx } from '../../database/database.ts'
import { scheduleJob } from '../../database/jobs/job-table.ts'

/** The kind of job that deletes an account which was never used. */
export const EXPIRE_UNUSED_ACCOUNT = 'expire-unused-account'
/** Long enough to verify at a provider that takes its time. */
const UNUSED_ACCOUNT_LIFETIME_MS = 30 * 24 * 3_600_000

/** Schedules the deletion of a new account, unless its owner verifies or claims anything. @param at when it was created */
export function scheduleExpiry(tx: Tx, ownerId: number, at: number): Promise<void> {
  const id = `${EXPIRE_UNUSED_ACCOUNT}:${ownerId}`
  const run_at = at + UNUSED_ACCOUNT_LIFETIME_MS
  return scheduleJob(tx, { id, kind: EXPIRE_UNUSED_ACCOUNT, run_at, subject: String(ownerId) })
}
