import { EXPIRE_VERIFICATION } from '../../accounts/identity/record-verification.ts'
import {
  endMembershipsOf,
  type MembershipEffect,
} from '../../accounts/organisations/end-membership.ts'
import { membersOf, organisationsOf } from '../../accounts/organisations/membership-table.ts'
import { notifyOfMember } from '../../accounts/organisations/notify-of-member.ts'
import {
  DELETED_OWNER_ID,
  deleteOwner,
  insertDeletedOwner,
  ownerById,
} from '../../accounts/owner-table.ts'
import { EXPIRE_UNUSED_ACCOUNT } from '../../accounts/owners/unused-account.ts'
import { quarantineUsername } from '../../accounts/username-quarantine.ts'
import { agentsByTails, ownsAgents } from '../../agents/agent-table.ts'
import { eraseDelegations } from '../../agents/changes/delegation-table.ts'
import { cancelRegrade } from '../../agents/changes/regrade-owner.ts'
import { revokeAgent } from '../../agents/changes/set-status.ts'
import { eraseCertifiedIdentity } from '../../agents/changes/status-entry-table.ts'
import { eraseEnrolments } from '../../agents/enrolment/enrolment-table.ts'
import { eraseRules } from '../../agents/enrolment/rule-table.ts'
import { eraseEventsOfAgents, eraseEventsOfOwner } from '../../agents/manage/agent-event-table.ts'
import { anonymizeAgents, oldestAgents } from '../../agents/manage/own-agent-table.ts'
import { assertConfirmed, REVOKE_BATCH_SIZE } from '../../agents/manage/revoke-all.ts'
import { writeProfile } from '../../agents/manage/update-profile.ts'
import { eraseReports } from '../../agents/reports/report-table.ts'
import { eraseOwnerOfTransfers, failTransfersOf } from '../../agents/transfers/end-transfer.ts'
import { deleteAgentsOf, oneSentBy, tailsOf } from '../../agents/transfers/transfer-table.ts'
import { eraseChannels } from '../../channels/channel-lifecycle.ts'
import { deleteDomain } from '../../channels/organisation-domain/organisation-domain-table.ts'
import type { JobRow, OwnerRow, Tx } from '../../database/database.ts'
import { appendEvent } from '../../database/event-table.ts'
import { cancelJob, renewJob } from '../../database/jobs/job-table.ts'
import { eraseOpenings } from '../../log/opening-table.ts'
import { eraseQuota } from '../../log/quota-table.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { eraseGrantsOfAgents, eraseIssuers } from '../../statements/grants/grant-table.ts'
import { deleteEndpointsOf } from '../../webhooks/manage-endpoints.ts'
import { requestRemoval, scheduleForgetting } from './after-erasure.ts'
import type { Erasures } from './erasures.ts'
import {
  deleteOrganisationRecords,
  forgetPerson,
  managedAccountsOf,
} from './organisation-data-table.ts'
import {
  anonymizeReleasedUsernames,
  deleteAvatars,
  deleteJobs,
  deleteOwnerRecords,
  wasEverVerified,
} from './owner-data-table.ts'

const REASON = 'owner_deleted'
/** The kind of job that deletes the account of a member whom the identity provider of an organisation managed. */
export const EXPIRE_MANAGED_ACCOUNT = 'expire-managed-account'
/** After the end of the membership: until then, the member may come back. */
const MANAGED_ACCOUNT_RETENTION_MS = 30 * 86_400_000
/** Managed accounts that one transaction erases. */
const MEMBERS_BATCH_SIZE = 50
/** Replaces the owner's labels of agents. */
const DELETED_LABEL = 'deleted'
const EMPTY_PROFILE = {
  username: null,
  username_skeleton: null,
  display_name: null,
  description: null,
  avatar: null,
}

export interface DeletionDeps extends Pick<CoreDeps, 'db' | 'now' | 'pepper'> {
  readonly erasures: Erasures
}

/**
 * Deletes an account: revokes its agents, whose DIDs remain and show the revocation, and erases everything that identifies the
 * owner or tells which agents were theirs. With more than 200 agents, most of them leave the account in transactions of 200
 * before the last one, so that other writers do not wait long; after an interruption, a retry continues from there. Also
 * deletes the hashes of the owner's subjects at identity providers, so that the same person can verify a new account. A person
 * leaves their organisations; an organisation takes the accounts along that its identity provider manages.
 * @param confirmation the owner's username, typed again
 * @returns the number of agents revoked
 * @throws CodedError VALIDATION_ERROR if the username does not match, CONFLICT if a person is the last admin of an organisation
 */
export async function deleteAccount(
  { db, now, pepper, erasures }: DeletionDeps,
  ownerId: number,
  confirmation: string,
): Promise<number> {
  for (let revoked = 0; ; ) {
    const at = now()
    const batch = await db.write(async (tx) => {
      await assertConfirmed(tx, ownerId, confirmation)
      // First, since the last admin of an organisation cannot leave it, and then no agent may be revoked.
      await endMembershipsOf(tx, ownerId, 'account_deleted', at)
      await failTransfersOf(tx, ownerId, at)
      if (await eraseGivenAgents(tx, ownerId)) return { revoked: 0, isLast: false, members: [] }
      const erased = await eraseAgents(tx, pepper, ownerId, at)
      if (!erased.isLast) return { ...erased, members: [] }
      const members = await eraseManagedAccounts(tx, ownerId, at)
      if (members.length === MEMBERS_BATCH_SIZE) return { ...erased, members, isLast: false }
      const released = { namespace: 'owner', username: confirmation, ownerId, at } as const
      await quarantineUsername(tx, pepper, released)
      await eraseOwner(tx, ownerId, at)
      return { ...erased, members }
    })
    revoked += batch.revoked
    for (const member of batch.members) erasures.record(member, at)
    if (!batch.isLast) continue
    erasures.record(ownerId, at)
    return revoked
  }
}

/**
 * Revokes up to 200 agents of an owner, erases what is stored about them, and moves them to the row of deleted owners.
 * @returns how many were active or suspended, and whether the owner has no agent any more
 */
async function eraseAgents(
  tx: Tx,
  pepper: CoreDeps['pepper'],
  ownerId: number,
  at: number,
): Promise<{ readonly revoked: number; readonly isLast: boolean }> {
  const agents = await oldestAgents(tx.db, ownerId, REVOKE_BATCH_SIZE)
  const isLast = agents.length < REVOKE_BATCH_SIZE
  // PostgreSQL rejects `in ()`.
  if (agents.length === 0) return { revoked: 0, isLast }
  const tails = agents.map(({ tail }) => tail)
  const live = agents.filter(({ status }) => status !== 'revoked')
  const revocation = { reason: REASON, setBy: 'owner', isBulk: true, delay: 'day' } as const
  for (const agent of live) await revokeAgent(tx, agent, revocation, at)
  await eraseChannels(tx, tails, REASON, at)
  // Profiles may identify their owner. Each that is cleared gets an `agent.updated` event.
  for (const agent of agents) await writeProfile(tx, pepper, agent, EMPTY_PROFILE, at)
  await deleteAvatars(tx, tails)
  await eraseCertifiedIdentity(tx, tails)
  await eraseDelegations(tx, tails)
  await eraseOpenings(tx, ownerId, tails, true)
  await eraseEnrolments(tx, tails)
  await eraseReports(tx, ownerId, tails)
  await eraseGrantsOfAgents(tx, tails)
  await eraseEventsOfAgents(tx, ownerId, agents)
  await insertDeletedOwner(tx)
  await anonymizeAgents(tx, tails, { agent_id: DELETED_LABEL, owner_id: DELETED_OWNER_ID })
  return { revoked: live.length, isLast }
}

/** Erases some of the accounts that the identity provider of an organisation manages. @returns their ids */
async function eraseManagedAccounts(tx: Tx, orgId: number, at: number): Promise<number[]> {
  const members = await managedAccountsOf(tx.db, orgId, MEMBERS_BATCH_SIZE)
  for (const member of members) await eraseOwner(tx, member, at)
  return members
}

/**
 * Erases what is stored of an owner about the agents of one transfer, which are of another owner now.
 * @returns false if there is no such transfer any more
 */
async function eraseGivenAgents(tx: Tx, ownerId: number): Promise<boolean> {
  const transfer = await oneSentBy(tx.db, ownerId)
  if (transfer === undefined) return false
  const agents = await agentsByTails(tx.db, await tailsOf(tx.db, transfer.id))
  const tails = agents.map(({ tail }) => tail)
  await eraseOpenings(tx, ownerId, tails, false)
  await eraseEventsOfAgents(tx, ownerId, agents)
  await deleteAgentsOf(tx, transfer.id)
  return true
}

/** Erases an owner who has no agents any more. */
async function eraseOwner(tx: Tx, ownerId: number, at: number): Promise<void> {
  const { kind, username } = (await ownerById(tx.db, ownerId)) as OwnerRow
  if (kind === 'organisation') await eraseOrganisation(tx, ownerId, at)
  else await forgetPerson(tx, ownerId, username)
  await cancelJob(tx, `${EXPIRE_MANAGED_ACCOUNT}:${ownerId}`)
  await deleteJobs(tx, `${EXPIRE_VERIFICATION}:${ownerId}:`)
  await cancelRegrade(tx, ownerId)
  await cancelJob(tx, `${EXPIRE_UNUSED_ACCOUNT}:${ownerId}`)
  await deleteEndpointsOf(tx, ownerId)
  await eraseIssuers(tx, ownerId)
  await eraseRules(tx, ownerId)
  await eraseReports(tx, ownerId, null)
  await eraseQuota(tx, ownerId)
  await deleteDomain(tx, ownerId)
  await deleteOwnerRecords(tx, ownerId)
  await insertDeletedOwner(tx)
  await failTransfersOf(tx, ownerId, at)
  await eraseOwnerOfTransfers(tx, ownerId)
  await anonymizeReleasedUsernames(tx, ownerId)
  await eraseEventsOfOwner(tx, ownerId)
  await deleteOwner(tx, ownerId)
  const seq = tx.nextSeq()
  await appendEvent(tx, { seq, at, type: 'owner.deleted', tail: null, ownerId, payload: {} })
  await scheduleForgetting(tx, seq, at)
  await requestRemoval(tx, at)
}

/** Tells the members, and erases what only organisations have. */
async function eraseOrganisation(tx: Tx, orgId: number, at: number): Promise<void> {
  for (const member of await membersOf(tx.db, orgId)) {
    await notifyOfMember(tx, member, { change: 'organisation_deleted' }, at)
  }
  await deleteOrganisationRecords(tx, orgId)
}

/** What follows from the end of a membership: an account that only the organisation managed is erased later. */
export const managedAccountOfEndedMembership: MembershipEffect = async (
  tx,
  { membership: { person_id: personId }, role },
  at,
) => {
  if (role !== null || personId === null) return {}
  const person = await ownerById(tx.db, personId)
  if (person?.kind !== 'member') return {}
  await renewJob(tx, {
    id: `${EXPIRE_MANAGED_ACCOUNT}:${personId}`,
    kind: EXPIRE_MANAGED_ACCOUNT,
    subject: String(personId),
    run_at: at + MANAGED_ACCOUNT_RETENTION_MS,
  })
  return {}
}

/** A job that deletes the account of a member who has left, and has not come back. */
export async function expireManagedAccount(tx: Tx, { subject }: JobRow, at: number): Promise<void> {
  const personId = Number(subject)
  if ((await ownerById(tx.db, personId)) === undefined) return
  if ((await organisationsOf(tx.db, personId)).length > 0) return
  await eraseOwner(tx, personId, at)
}

/** A job that deletes an account whose owner has never verified or claimed anything, and is in no organisation. */
export async function expireUnusedAccount(tx: Tx, { subject }: JobRow, at: number): Promise<void> {
  const ownerId = Number(subject)
  if ((await ownerById(tx.db, ownerId)) === undefined) return
  if ((await ownsAgents(tx.db, ownerId)) || (await wasEverVerified(tx.db, ownerId))) return
  if ((await organisationsOf(tx.db, ownerId)).length > 0) return
  await eraseOwner(tx, ownerId, at)
}
