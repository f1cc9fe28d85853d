import { EXPIRE_VERIFICATION } from '../../accounts/identity/record-verification.ts'
import { ownerById } from '../../accounts/owner-table.ts'
import { EXPIRE_UNUSED_ACCOUNT } from '../../accounts/owners/unused-account.ts'
import { quarantineUsername } from '../../accounts/username-quarantine.ts'
import { ownsAgents } from '../../agents/agent-table.ts'
import { cancelRegrade } from '../../agents/changes/regrade-owner.ts'
import { erasePayloads } from '../../agents/manage/agent-event-table.ts'
import { agentsWithProfile, unrevokedAgents } from '../../agents/manage/own-agent-table.ts'
import { assertConfirmed, REVOKE_BATCH_SIZE, revokeAgents } from '../../agents/manage/revoke-all.ts'
import { writeProfile } from '../../agents/manage/update-profile.ts'
import { eraseChannels } from '../../channels/channel-lifecycle.ts'
import type { AgentRow, JobRow, Tx } from '../../database/database.ts'
import { appendEvent } from '../../database/event-table.ts'
import { cancelJob } from '../../database/jobs/job-table.ts'
import { eraseOpenings } from '../../log/log-table.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { eraseGrants } from '../../statements/grants/grant-table.ts'
import { deleteEndpointsOf } from '../../webhooks/manage-endpoints.ts'
import {
  anonymizeAgents,
  anonymizeOwner,
  deleteJobs,
  deleteOwnerRecords,
  wasEverVerified,
} from './owner-data-table.ts'

const REASON = 'owner_deleted'
/** Replaces the owner's labels of agents. */
const DELETED_LABEL = 'deleted'
/** Accounts with at least this many agents are processed in batches. */
const BATCH_THRESHOLD = REVOKE_BATCH_SIZE + 1
const ALL = Number.MAX_SAFE_INTEGER
const EMPTY_PROFILE = {
  username: null,
  username_skeleton: null,
  display_name: null,
  description: null,
  avatar: null,
}

/**
 * Deletes an account in one transaction: revokes its agents, whose DIDs remain and show the revocation, and erases
 * everything that identifies the owner. With more than 200 agents, batches revoke most of them before that transaction,
 * so that other writers do not wait long; after an interruption, a retry continues from there. Also deletes the hashes of
 * the owner's subjects at identity providers, so that the same person can verify a new account.
 * @param confirmation the owner's username, typed again
 * @returns the number of agents revoked
 * @throws CodedError VALIDATION_ERROR if the username does not match
 */
export async function deleteAccount(
  { db, now }: Pick<CoreDeps, 'db' | 'now'>,
  ownerId: number,
  confirmation: string,
): Promise<number> {
  const confirmed = (work: (tx: Tx, at: number) => Promise<number>) =>
    db.write(async (tx) => {
      await assertConfirmed(tx, ownerId, confirmation)
      return work(tx, now())
    })
  const revokedBefore = await inBatches(() => confirmed((tx, at) => revokeBatch(tx, ownerId, at)))
  await inBatches(() => confirmed((tx, at) => clearProfileBatch(tx, ownerId, at)))
  const revokedLast = await confirmed(async (tx, at) => {
    const revoked = await eraseAccount(tx, ownerId, at)
    await quarantineUsername(tx, { namespace: 'owner', username: confirmation, ownerId, at })
    return revoked
  })
  return revokedBefore + revokedLast
}

/** The last transaction of a deletion. @returns the number of agents revoked */
async function eraseAccount(tx: Tx, ownerId: number, at: number): Promise<number> {
  const revoked = await revokeAgents(tx, ownerId, REASON, at, ALL, 'spread')
  await eraseChannels(tx, ownerId, REASON, at)
  await erasePayloads(tx, ownerId)
  await clearProfiles(tx, await agentsWithProfile(tx.db, ownerId, ALL), at)
  await anonymizeAgents(tx, ownerId, DELETED_LABEL)
  await deleteJobs(tx, `${EXPIRE_VERIFICATION}:${ownerId}:`)
  await cancelRegrade(tx, ownerId)
  await cancelJob(tx, `${EXPIRE_UNUSED_ACCOUNT}:${ownerId}`)
  await deleteEndpointsOf(tx, ownerId)
  await eraseGrants(tx, ownerId, at)
  await eraseOpenings(tx, ownerId)
  await deleteOwnerRecords(tx, ownerId)
  // Valid usernames contain no colon, so this one cannot be taken.
  await anonymizeOwner(tx, ownerId, `deleted:${ownerId}`, at)
  const seq = tx.nextSeq()
  await appendEvent(tx, { seq, at, type: 'owner.deleted', tail: null, ownerId, payload: {} })
  return revoked
}

/**
 * Runs batches until one changes nothing.
 * @param batch resolves to the number of agents changed; 0 if the rest fits into one transaction
 * @returns the total
 */
async function inBatches(batch: () => Promise<number>): Promise<number> {
  for (let total = 0; ; ) {
    const count = await batch()
    if (count === 0) return total
    total += count
  }
}

async function revokeBatch(tx: Tx, ownerId: number, at: number): Promise<number> {
  const { length } = await unrevokedAgents(tx.db, ownerId, BATCH_THRESHOLD)
  if (length < BATCH_THRESHOLD) return 0
  return revokeAgents(tx, ownerId, REASON, at, REVOKE_BATCH_SIZE, 'spread')
}

async function clearProfileBatch(tx: Tx, ownerId: number, at: number): Promise<number> {
  const agents = await agentsWithProfile(tx.db, ownerId, BATCH_THRESHOLD)
  if (agents.length < BATCH_THRESHOLD) return 0
  await clearProfiles(tx, agents, at)
  return agents.length
}

/** Profiles may identify their owner. Each cleared profile gets an `agent.updated` event. */
async function clearProfiles(tx: Tx, agents: readonly AgentRow[], at: number): Promise<void> {
  for (const agent of agents) await writeProfile(tx, agent, EMPTY_PROFILE, at)
}

/** A job that deletes an account whose owner has never verified or claimed anything. */
export async function expireUnusedAccount(tx: Tx, { subject }: JobRow, at: number): Promise<void> {
  const ownerId = Number(subject)
  const owner = await ownerById(tx.db, ownerId)
  if (owner === undefined || owner.deleted_at !== null) return
  if ((await ownsAgents(tx.db, ownerId)) || (await wasEverVerified(tx.db, ownerId))) return
  await eraseAccount(tx, ownerId, at)
}
