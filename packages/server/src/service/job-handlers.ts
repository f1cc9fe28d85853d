import { goOnRegrading, REGRADE_OWNER } from '../agents/regrade-owner.ts'
import { END_CHANNEL, endChannel } from '../channels/channel-end.ts'
import type { JobHandlers } from '../core/jobs/run-jobs.ts'
import { EXPIRE_VERIFICATION, expireVerification } from '../identity/record-verification.ts'

/** Every kind of job that this release runs. */
export const JOB_HANDLERS: JobHandlers = {
  [EXPIRE_VERIFICATION]: expireVerification,
  [END_CHANNEL]: endChannel,
  [REGRADE_OWNER]: goOnRegrading,
}
