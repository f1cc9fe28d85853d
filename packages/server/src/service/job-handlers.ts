import {
  EXPIRE_VERIFICATION,
  expireVerification,
} from '../accounts/identity/record-verification.ts'
import { EXPIRE_UNUSED_ACCOUNT } from '../accounts/owners/unused-account.ts'
import { continueRegrade, REGRADE_OWNER } from '../agents/changes/regrade-owner.ts'
import { completeDueRecovery } from '../agents/keys/complete-recovery.ts'
import { COMPLETE_RECOVERY } from '../agents/keys/end-recovery.ts'
import { EXPIRE_CHANNEL, expireChannel } from '../channels/channel-lifecycle.ts'
import type { JobHandlers } from '../database/jobs/run-jobs.ts'
import { expireUnusedAccount } from './privacy/expire-unused-account.ts'

/** Every kind of job that this release runs. */
export const JOB_HANDLERS: JobHandlers = {
  [EXPIRE_VERIFICATION]: expireVerification,
  [EXPIRE_CHANNEL]: expireChannel,
  [REGRADE_OWNER]: continueRegrade,
  [COMPLETE_RECOVERY]: completeDueRecovery,
  [EXPIRE_UNUSED_ACCOUNT]: expireUnusedAccount,
}
