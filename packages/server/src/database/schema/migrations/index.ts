import { first } from './0001-first.ts'
import { owners } from './0002-owners.ts'
import { channels } from './0003-channels.ts'
import { commitMarks } from './0004-commit-marks.ts'
import { facts } from './0005-facts.ts'
import { rateCounts } from './0006-rate-counts.ts'
import { jobDueSince } from './0007-job-due-since.ts'
import { pruning } from './0008-pruning.ts'
import { agentKeys } from './0009-agent-keys.ts'
import { suspensions } from './0010-suspensions.ts'
import { ownerNames } from './0011-owner-names.ts'
import { keyThumbprints } from './0012-key-thumbprints.ts'
import { apiKeys } from './0013-api-keys.ts'
import { notifications } from './0014-notifications.ts'
import { batchesAndActivity } from './0015-batches-and-activity.ts'
import { keyRecoveries } from './0016-key-recoveries.ts'
import { issuerKeys } from './0017-issuer-keys.ts'
import { accountActivity } from './0018-account-activity.ts'
import { statusEntries } from './0019-status-entries.ts'
import { webhooks } from './0020-webhooks.ts'
import { transparencyLog } from './0021-transparency-log.ts'
import { webhookSecrets } from './0022-webhook-secrets.ts'
import { grantIssuers } from './0023-grant-issuers.ts'
import { witness } from './0024-witness.ts'
import { logWitnesses } from './0025-log-witnesses.ts'
import type { Migration } from './migration.ts'

/** In order, append-only: what has been released is never edited. */
export const MIGRATIONS: readonly Migration[] = [
  first,
  owners,
  channels,
  commitMarks,
  facts,
  rateCounts,
  jobDueSince,
  pruning,
  agentKeys,
  suspensions,
  ownerNames,
  keyThumbprints,
  apiKeys,
  notifications,
  batchesAndActivity,
  keyRecoveries,
  issuerKeys,
  accountActivity,
  statusEntries,
  webhooks,
  transparencyLog,
  webhookSecrets,
  grantIssuers,
  witness,
  logWitnesses,
]
