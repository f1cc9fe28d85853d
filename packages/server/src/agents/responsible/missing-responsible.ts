import { OWNER_LOST } from '@countersign/protocol'
import { appendNotification } from '../../accounts/notifications/notify-owner.ts'
import type { MembershipEffect } from '../../accounts/organisations/end-membership.ts'
import { liveMembershipById } from '../../accounts/organisations/membership-table.ts'
import type { Database, JobRow, Tx } from '../../database/database.ts'
import { hastenJobs, jobById, scheduleJob } from '../../database/jobs/job-table.ts'
import { setStatus } from '../changes/set-status.ts'
import { DAY_MS, planMissing, type Told } from './missing-plan.ts'
import { suspendAfterDays } from './organisation-settings-table.ts'
import {
  activeLost,
  countLost,
  countWithoutResponsible,
  type LostAgents,
  NOBODY,
} from './responsible-table.ts'

/** The kind of job that tells managers of agents without a responsible person, and suspends these agents. */
export const RESPONSIBLE_MISSING = 'responsible-missing'

/** Agents suspended in one transaction at most, because other writers on all nodes wait for it. */
const BATCH_SIZE = 200

/** What a job is about. */
interface Missing extends LostAgents, Told {
  /** The suspension has begun, and managers were told. */
  readonly isSuspending: boolean
}

function jobsOf(orgId: number): string {
  return `${RESPONSIBLE_MISSING}:${orgId}:`
}

async function schedule(tx: Tx, missing: Missing, at: number): Promise<void> {
  const id = jobsOf(missing.orgId) + (missing.tail ?? missing.responsible)
  const subject = JSON.stringify(missing)
  await scheduleJob(tx, { id, kind: RESPONSIBLE_MISSING, subject, run_at: at })
}

/** Counts the agents that a member leaves behind. One job follows them, however many they are: nothing is written on agents. */
export const agentsOfEndedMember: MembershipEffect = async (tx, { membership, role }, since) => {
  if (role !== null) return {}
  const { id, org_id: orgId } = membership
  const lost = { orgId, responsible: id, tail: null }
  const responsibleFor = await countLost(tx.db, lost)
  if (responsibleFor > 0) {
    const missing = { ...lost, since, toldAt: null, suspendAt: null, isSuspending: false }
    await schedule(tx, missing, since)
  }
  return { responsibleFor }
}

/** Follows the agents of a member, to whom some are added now, if the member has left. */
export async function followIfLeft(
  tx: Tx,
  { orgId, responsible }: Pick<LostAgents, 'orgId' | 'responsible'>,
  since: number,
): Promise<void> {
  if ((await liveMembershipById(tx.db, responsible)) !== undefined) return
  if ((await jobById(tx.db, jobsOf(orgId) + responsible)) !== undefined) return
  const lost = { orgId, responsible, tail: null }
  await schedule(tx, { ...lost, since, toldAt: null, suspendAt: null, isSuspending: false }, since)
}

/** Follows an agent from which a manager took the responsible person. They know it, so that the first notice is the second one. */
export async function followAgent(
  tx: Tx,
  { orgId, tail }: { readonly orgId: number; readonly tail: string },
  since: number,
): Promise<void> {
  const lost = { orgId, responsible: NOBODY, tail }
  const missing = { ...lost, since, toldAt: since, suspendAt: null, isSuspending: false }
  await schedule(tx, missing, since)
}

/** Plans anew for all agents of an organisation without a responsible person, after its setting changed. */
export function planAgain(tx: Tx, orgId: number, at: number): Promise<void> {
  return hastenJobs(tx, jobsOf(orgId), at)
}

/**
 * Job handler: tells managers of the agents, or suspends them. Runs again as long as one of them is not revoked and has no other
 * responsible person, since what makes an agent active again does not ask for one.
 */
export async function followMissing(tx: Tx, { subject }: JobRow, at: number): Promise<void> {
  const missing = JSON.parse(subject) as Missing
  const count = await countLost(tx.db, missing)
  if (count === 0) return
  const days = await suspendAfterDays(tx.db, missing.orgId)
  const { notify, suspend, told, nextAt } = planMissing(missing, days, at)
  if (suspend) return suspendLost(tx, missing, at, nextAt)
  if (notify) await notifyOfMissing(tx, missing, { count, suspendAt: suspensionOf(told, days) }, at)
  await schedule(tx, { ...missing, ...told, isSuspending: false }, nextAt)
}

/** When the agents are suspended if nobody does anything; null: never. */
function suspensionOf({ since, suspendAt }: Told, days: number | null): number | null {
  return days === null ? null : (suspendAt ?? since + days * DAY_MS)
}

async function suspendLost(tx: Tx, missing: Missing, at: number, nextAt: number): Promise<void> {
  const active = await countLost(tx.db, missing, 'active')
  const tails = await activeLost(tx.db, missing, BATCH_SIZE)
  const status = { to: 'suspended', reason: OWNER_LOST, setBy: 'service', isBulk: true } as const
  for (const tail of tails) await setStatus(tx, tail, status, at)
  if (active > 0 && !missing.isSuspending) {
    await notifyOfMissing(tx, missing, { count: active, isSuspended: 1 }, at)
  }
  const isSuspending = active > tails.length
  await schedule(tx, { ...missing, isSuspending }, isSuspending ? at : nextAt)
}

async function notifyOfMissing(
  tx: Tx,
  { orgId, tail, responsible }: LostAgents,
  details: Readonly<Record<string, number | null>>,
  at: number,
): Promise<void> {
  await appendNotification(tx, {
    ownerId: orgId,
    kind: 'responsible_missing',
    subject: `${tail ?? responsible}:${at}`,
    details,
    at,
  })
}

/** The number of organisations' agents that are not revoked and have no responsible person. */
export function withoutResponsible({ db }: { readonly db: Database }): Promise<number> {
  return countWithoutResponsible(db.read)
}
