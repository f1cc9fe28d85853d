import { randomUUID } from 'node:crypto'
import type { Database, Db, EventRow, JobRow, Tables, Tx } from '../../database/database.ts'
import { eraseOwnerOfEvent, eventsBySeqs } from '../../database/event-table.ts'
import {
  jobById,
  jobsByPrefix,
  renewJob,
  scheduleJob,
  takeJob,
} from '../../database/jobs/job-table.ts'

/** The kind of job that erases the owner of `owner.deleted`. */
export const FORGET_OWNER = 'forget-owner'
/** Nodes that follow the events need the owner, to drop what they have in memory. One that is cut off for longer drops all. */
const FORGET_AFTER_MS = 10 * 60_000

/** Schedules that the event of a deletion no longer says whose it was. @param seq of the event */
export async function scheduleForgetting(tx: Tx, seq: number, at: number): Promise<void> {
  const run_at = at + FORGET_AFTER_MS
  await scheduleJob(tx, {
    id: `${FORGET_OWNER}:${seq}`,
    kind: FORGET_OWNER,
    subject: String(seq),
    run_at,
  })
}

/** The events of deletions that still say whose account it was. */
export async function recentDeletions(db: Db): Promise<EventRow[]> {
  const jobs = await jobsByPrefix(db, `${FORGET_OWNER}:`)
  const seqs = jobs.map(({ subject }) => Number(subject))
  return eventsBySeqs(db, seqs)
}

/** The job that erases the owner of the event of a deletion. */
export async function forgetOwner(tx: Tx, { subject }: JobRow): Promise<void> {
  await eraseOwnerOfEvent(tx, Number(subject))
}

/**
 * Waits as a job, so that the alarm about late jobs covers it, but runs outside of a transaction (`removeDeleted`), every second
 * until it succeeds. It is late after an hour: a backup may keep it waiting for long.
 */
const REMOVE_DELETED = 'remove-deleted'
const LATE_AFTER_MS = 3_600_000

/** The tables of which an erasure deletes or changes rows. */
const TOUCHED = [
  'account_activity',
  'agents',
  'api_keys',
  'approvals',
  'avatars',
  'channel_checks',
  'channel_leases',
  'channels',
  'claim_tokens',
  'delegations',
  'email_addresses',
  'email_outbox',
  'email_preferences',
  'enrolment_rules',
  'enrolments',
  'events',
  'flows',
  'grant_assignments',
  'grant_issuers',
  'grant_uses',
  'identity_verifications',
  'invitations',
  'jobs',
  'key_recoveries',
  'log_entries',
  'log_queue',
  'log_quotas',
  'mandates',
  'member_actions',
  'memberships',
  'notifications',
  'organisation_domains',
  'organisation_settings',
  'owners',
  'passkeys',
  'recovery_codes',
  'released_usernames',
  'report_evidence',
  'reports',
  'scim_tokens',
  'scim_users',
  'sessions',
  'settings',
  'sign_in_identities',
  'sign_in_links',
  'sso_connections',
  'status_entries',
  'transfer_agents',
  'transfers',
  'webhook_deliveries',
  'webhook_endpoints',
] as const satisfies (keyof Tables)[]

/** Asks for the removal of what deleted rows have left in the database's files. */
export async function requestRemoval(tx: Tx, at: number): Promise<void> {
  const run_at = at + LATE_AFTER_MS
  await renewJob(tx, { id: REMOVE_DELETED, kind: REMOVE_DELETED, subject: randomUUID(), run_at })
}

/** Removes what deleted rows have left, if an erasure has asked for it. @returns false if it has to be tried again */
export async function removeDeleted(db: Database): Promise<boolean> {
  const wanted = await jobById(db.read, REMOVE_DELETED)
  if (wanted === undefined) return true
  if (!(await db.removeDeleted(TOUCHED))) return false
  // Another erasure meanwhile has changed the subject, and asks for another removal.
  await db.write((tx) => takeJob(tx, wanted))
  return true
}
