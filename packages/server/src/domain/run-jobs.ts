import type { Database, JobRow, Tx } from '../storage/database.ts'
import { appendEvent } from '../storage/events.ts'
import { dueJobs, takeJob } from '../storage/jobs.ts'
import { END_CHANNEL, endChannel } from './channels/channel-end.ts'
import { EXPIRE_VERIFICATION } from './verify-owner.ts'

export interface JobDeps {
  readonly db: Database
  readonly now: () => number
}

const JOBS_AT_ONCE = 100

const HANDLERS: Readonly<Record<string, (tx: Tx, job: JobRow, at: number) => Promise<void>>> = {
  [EXPIRE_VERIFICATION]: tellOfExpiry,
  [END_CHANNEL]: endChannel,
}

/**
 * Does what is due. Each job and its end are one transaction, so that it is done once.
 * @returns how many were done
 */
export async function runDueJobs(deps: JobDeps): Promise<number> {
  const jobs = await dueJobs(deps.db.read, deps.now(), JOBS_AT_ONCE)
  for (const job of jobs) {
    await deps.db.write(async (tx) => {
      if (await takeJob(tx, job)) await HANDLERS[job.kind]?.(tx, job, deps.now())
    })
  }
  return jobs.length
}

/** The verification counts for nothing from its date on; the event tells those who follow. */
async function tellOfExpiry(tx: Tx, job: JobRow, at: number): Promise<void> {
  const { ownerId, provider } = JSON.parse(job.subject) as { ownerId: number; provider: string }
  const facts = { provider, reason: 'expired' }
  const seq = tx.nextSeq()
  await appendEvent(tx, { seq, at, type: 'owner.identity_expired', tail: null, ownerId, facts })
}
