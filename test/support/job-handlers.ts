import {
  EXPIRE_VERIFICATION,
  expireVerification,
} from '../../packages/server/src/accounts/identity/record-verification.ts'
import {
  continueRegrade,
  REGRADE_OWNER,
} from '../../packages/server/src/agents/changes/regrade-owner.ts'
import { completeDueRecovery } from '../../packages/server/src/agents/keys/complete-recovery.ts'
import { COMPLETE_RECOVERY } from '../../packages/server/src/agents/keys/end-recovery.ts'
import {
  EXPIRE_CHANNEL,
  expireChannel,
} from '../../packages/server/src/channels/channel-lifecycle.ts'
import type { JobHandlers } from '../../packages/server/src/database/jobs/run-jobs.ts'

/** The jobs that change agents, as the parts of a service handle them. */
export const JOB_HANDLERS: JobHandlers = {
  [EXPIRE_VERIFICATION]: expireVerification,
  [EXPIRE_CHANNEL]: expireChannel,
  [REGRADE_OWNER]: continueRegrade,
  [COMPLETE_RECOVERY]: completeDueRecovery,
}
