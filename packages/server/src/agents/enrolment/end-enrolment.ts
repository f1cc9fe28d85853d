import {
  CodedError,
  type EndEnrolmentRequest,
  type EndedEnrolment,
  enrolmentEndMessage,
} from '@countersign/protocol'
import { didOfAgent, tailOf } from '../../base/site.ts'
import type { JobRow, Tx } from '../../database/database.ts'
import { cancelJob, scheduleJob } from '../../database/jobs/job-table.ts'
import { agentByTail } from '../agent-table.ts'
import type { AgentEffect } from '../changes/change-agent.ts'
import { revokeAgent } from '../changes/set-status.ts'
import {
  assertRecent,
  decodeSigned,
  type KeyOperationDeps,
  requireAgent,
} from '../keys/signed-operation.ts'
import { enrolmentOf, liveTailsOfRule, markEnded, updateEnd } from './enrolment-table.ts'
import { ruleById } from './rule-table.ts'

/** The kind of job that ends an agent which was not seen for too long. */
export const END_ENROLMENT = 'end-enrolment'
/** The kind of job that ends all agents of a rule. */
export const END_RULE = 'end-enrolment-rule'

const REASON = 'enrolment_ended'
/** A job that runs later than this was kept from running: the service was down, or a clock jumped. */
const LATE_MS = 15 * 60_000
/** For how long agents do not end while the keys of their issuer cannot be read. */
const UNREADABLE_MS = 7 * 86_400_000
/** By which part of its time the end of an agent is put off. */
const GRACE_PART = 3
const BATCH_SIZE = 100

function jobOf(tail: string): string {
  return `enrolment:${tail}`
}

/** Schedules the end of an agent, in place of an earlier one. @param at milliseconds since the Unix epoch */
export function scheduleEnd(tx: Tx, tail: string, at: number): Promise<void> {
  return scheduleJob(tx, { id: jobOf(tail), kind: END_ENROLMENT, subject: tail, run_at: at })
}

/**
 * A job that revokes an agent which was not seen for too long. If the job could not run in time, or the keys of the issuer cannot be
 * read, the workload could not be seen: the end is put off, so that an outage revokes no fleet.
 * @returns whether the agent has ended
 */
export async function endUnseen(tx: Tx, { subject: tail }: JobRow, at: number): Promise<boolean> {
  const enrolment = await enrolmentOf(tx.db, tail)
  if (enrolment === undefined || enrolment.ended_at !== null) return false
  const { ends_at: endsAt, seen_at: seenAt, grace_at: graceAt } = enrolment
  if (endsAt > at) {
    await scheduleEnd(tx, tail, endsAt)
    return false
  }
  const rule = await ruleById(tx.db, enrolment.rule_id)
  const graceMs = Math.floor(((rule?.unseen_after_seconds ?? 0) * 1000) / GRACE_PART)
  const failedAt = rule?.keys_failed_at ?? null
  // Nobody renews by a rule that is paused, whatever its keys.
  const isUnreadable =
    rule?.state === 'active' && failedAt !== null && at - failedAt < UNREADABLE_MS
  const isLate = at - endsAt > LATE_MS && graceAt !== seenAt
  if (isUnreadable || isLate) {
    const putOff = { ends_at: at + graceMs, grace_at: isLate ? seenAt : graceAt }
    await updateEnd(tx, tail, putOff)
    await scheduleEnd(tx, tail, putOff.ends_at)
    return false
  }
  await revokeEnrolled(tx, tail, 'service', at)
  return true
}

async function revokeEnrolled(
  tx: Tx,
  tail: string,
  setBy: 'service' | 'agent' | 'owner',
  at: number,
): Promise<boolean> {
  const agent = await agentByTail(tx.db, tail)
  if (agent === undefined || agent.status === 'revoked') return false
  await revokeAgent(tx, agent, { reason: REASON, setBy, isBulk: true }, at)
  return true
}

/** Schedules that all agents of a rule are revoked. */
export function scheduleEndOfRule(tx: Tx, ruleId: string, at: number): Promise<void> {
  const id = `${END_RULE}:${ruleId}`
  return scheduleJob(tx, { id, kind: END_RULE, subject: ruleId, run_at: at })
}

/** A job that revokes 100 agents of a rule, and is due again until there is none. @returns how many */
export async function endAgentsOfRule(
  tx: Tx,
  { subject: ruleId }: JobRow,
  at: number,
): Promise<number> {
  const tails = await liveTailsOfRule(tx.db, ruleId, BATCH_SIZE)
  for (const tail of tails) await revokeEnrolled(tx, tail, 'owner', at)
  if (tails.length === BATCH_SIZE) await scheduleEndOfRule(tx, ruleId, at)
  return tails.length
}

/** Whatever revokes an agent ends its enrolment. */
export const enrolmentOfChangedAgent: AgentEffect = {
  on: ['agent.revoked'],
  makes: [],
  async run(tx, { after, at }) {
    if (await markEnded(tx, after.tail, at)) await cancelJob(tx, jobOf(after.tail))
  },
}

interface EndDeps extends Pick<KeyOperationDeps, 'db' | 'site' | 'now' | 'ed25519'> {
  /** Called when the agent has ended by this request. */
  readonly onEnded: () => void
}

/**
 * Ends an agent at the request of its workload, at once: the owner loses nothing, since the workload can enrol again. Repeating it
 * changes nothing.
 * @param reference the agent's DID or its tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND (also if the agent is not enrolled), INVALID_SIGNATURE
 */
export async function endByWorkload(
  { db, site, now, ed25519, onEnded }: EndDeps,
  reference: string,
  { issuedAt, signature }: EndEnrolmentRequest,
): Promise<EndedEnrolment> {
  const tail = tailOf(site.naming, reference)
  const signed = decodeSigned(signature)
  assertRecent(issuedAt, now())
  const { public_key: publicKey } = await requireAgent(db.read, tail)
  if ((await enrolmentOf(db.read, tail)) === undefined) throw notEnrolled()
  const did = didOfAgent(site, tail)
  const message = enrolmentEndMessage(site.naming, {
    service: site.baseUrl,
    did,
    publicKey,
    issuedAt,
  })
  if (!(await ed25519.verify(publicKey, message, signed))) {
    throw new CodedError(
      'INVALID_SIGNATURE',
      `The signature is not one of the agent’s key over the end of its enrolment at ${site.baseUrl}.`,
    )
  }
  const { agent, hasEnded } = await db.write(async (tx) => {
    const hasEnded = await revokeEnrolled(tx, tail, 'agent', now())
    return { agent: await requireAgent(tx.db, tail), hasEnded }
  })
  if (hasEnded) onEnded()
  return {
    [site.naming.didField]: did,
    status: agent.status,
    statusReason: agent.status_reason,
  }
}

function notEnrolled(): CodedError {
  return new CodedError('NOT_FOUND', 'This agent was not enrolled by a rule.')
}
