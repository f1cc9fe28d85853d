import { COMPLETE_RECOVERY } from '../agent-management/end-recovery.ts'
import { continueRegrade, REGRADE_OWNER } from '../agents/regrade-owner.ts'
import { EXPIRE_CHANNEL, expireChannel } from '../channels/channel-lifecycle.ts'
import type { JobHandlers } from '../core/jobs/run-jobs.ts'
import { EXPIRE_VERIFICATION, expireVerification } from '../identity/record-verification.ts'
import { completeDueRecovery } from '../keys/complete-recovery.ts'
import { EXPIRE_UNUSED_ACCOUNT } from '../owners/unused-account.ts'
import { expireUnusedAccount } from '../privacy/expire-unused-account.ts'

/** Every kind of job that this release runs. */
export const JOB_HANDLERS: JobHandlers = {
  [EXPIRE_VERIFICATION]: expireVerification,
  [EXPIRE_CHANNEL]: expireChannel,
  [REGRADE_OWNER]: continueRegrade,
  [COMPLETE_RECOVERY]: completeDueRecovery,
  [EXPIRE_UNUSED_ACCOUNT]: expireUnusedAccount,
}
