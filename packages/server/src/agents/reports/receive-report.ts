import {
  CodedError,
  imitationIn,
  isEmailAddress,
  type NewReport,
  type ReceivedReport,
  type ReportCategory,
  type ReportState,
  randomBase58,
  type Tail,
} from '@countersign/protocol'
import type { Logger } from 'pino'
import { recordAccountActivity } from '../../accounts/account-activity-table.ts'
import { appendNotification } from '../../accounts/notifications/notify-owner.ts'
import { DELETED_OWNER_ID } from '../../accounts/owner-table.ts'
import { hashToken } from '../../base/hash-token.ts'
import type { RateSetting } from '../../base/parse-settings.ts'
import { didOfAgent, tailOf } from '../../base/site.ts'
import { timestamp, timestampOrNull } from '../../base/timestamp.ts'
import type { AgentRow, Db, Tx } from '../../database/database.ts'
import type { ReportRow } from '../../database/schema/report-rows.ts'
import { toCodedError } from '../../http/errors.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { agentByTail } from '../agent-table.ts'
import { keysOfAgent } from '../keys/key-table.ts'
import type { ReportMetrics } from './report-metrics.ts'
import {
  clearReport,
  clearRequestsBefore,
  countHosts,
  countReports,
  deleteReportsBefore,
  insertEvidence,
  insertReport,
  isOnlyReport,
  reportByToken,
  setClosed,
} from './report-table.ts'
import {
  type EvidenceDeps,
  readEvidence,
  type VerifiedEvidence,
  verifyEvidence,
} from './verify-evidence.ts'

export interface ReportDeps extends EvidenceDeps, Pick<CoreDeps, 'db' | 'now' | 'randomBytes'> {
  readonly log: Pick<Logger, 'warn'>
  readonly metrics: ReportMetrics
  /** How many reports there may be; null: no limit. */
  readonly quotas: {
    readonly host: RateSetting | null
    readonly agent: RateSetting | null
  }
}

const DAY_MS = 86_400_000
const ID_LENGTH = 22
/** Reports about requests to so many hosts in a day are worth a look of the operator. */
const ALARM_HOSTS = 3
/** How long the signed requests of a report are stored. */
const REQUEST_RETENTION_MS = 90 * DAY_MS
/** As long as notifications, which say the same. */
const REPORT_RETENTION_MS = 400 * DAY_MS

/** What is known of a report once its evidence is verified. */
interface VerifiedReport {
  readonly tail: Tail
  readonly host: string
  readonly category: ReportCategory
  readonly text: string
  readonly contact: string | null
  readonly evidence: readonly VerifiedEvidence[]
}

/**
 * Receives a report about an agent. The owner is notified; nothing else follows from it.
 * @throws CodedError VALIDATION_ERROR; NOT_FOUND if there is no such agent, or its owner was deleted; CONFLICT if a signature was
 *   reported before; RATE_LIMITED
 */
export async function createReport(deps: ReportDeps, report: NewReport): Promise<ReceivedReport> {
  try {
    const received = await receive(deps, report)
    deps.metrics.count(report.category, 'received')
    return received
  } catch (error) {
    deps.metrics.count(report.category, toCodedError(error).code.toLowerCase())
    throw error
  }
}

async function receive(deps: ReportDeps, sent: NewReport): Promise<ReceivedReport> {
  const { db, site, now, randomBytes, log, metrics } = deps
  const { category, text, contact = null } = sent
  const tail = tailOf(site.naming, sent.agent)
  assertSound(text, contact)
  const read = readEvidence(site.naming, sent.evidence, now())
  const keys = await keysOfAgent(db.read, await requireReportable(db.read, tail))
  const evidence = await Promise.all(read.map((each) => verifyEvidence(deps, tail, keys, each)))
  assertDifferent(evidence)
  const [{ host }] = read
  const id = `rp_${randomBase58(ID_LENGTH, randomBytes)}`
  const token = `${site.naming.reportTokenPrefix}${Buffer.from(randomBytes(16)).toString('hex')}`
  const verified = { tail, host, category, text, contact, evidence }
  const { at, isAlarm } = await db
    .write((tx) => store(deps, tx, { ...verified, id, token }))
    .catch((error: unknown) => {
      if (toCodedError(error).code === 'RATE_LIMITED') {
        log.warn({ agent: didOfAgent(site, tail), host }, 'a report was refused: over its limit')
      }
      throw error
    })
  if (isAlarm) {
    metrics.alarms += 1
    log.warn(
      { agent: didOfAgent(site, tail), report: id },
      `requests of an agent to ${ALARM_HOSTS} hosts were reported within 24 hours`,
    )
  }
  return { id, receivedAt: timestamp(at), token }
}

function assertSound(text: string, contact: string | null): void {
  const imitation = imitationIn(text)
  if (imitation !== null) {
    throw new CodedError('VALIDATION_ERROR', `text must not contain ${imitation}.`)
  }
  if (contact !== null && !isEmailAddress(contact)) {
    throw new CodedError('VALIDATION_ERROR', 'contact must be an e-mail address, or null.')
  }
}

function assertDifferent(evidence: readonly VerifiedEvidence[]): void {
  const hashes = evidence.map(({ signature_hash }) => Buffer.from(signature_hash).toString('hex'))
  const repeated = hashes.findIndex((hash, at) => hashes.indexOf(hash) !== at)
  if (repeated < 0) return
  throw new CodedError('VALIDATION_ERROR', `evidence[${repeated}] is in this report already.`)
}

/** @throws CodedError NOT_FOUND, also for an agent whose owner was deleted */
async function requireReportable(db: Db, tail: Tail): Promise<AgentRow> {
  const agent = await agentByTail(db, tail)
  if (agent !== undefined && agent.owner_id !== DELETED_OWNER_ID) return agent
  throw new CodedError('NOT_FOUND', 'There is no agent with this DID.')
}

/** Stores a report, by what is true in the transaction. */
async function store(
  deps: ReportDeps,
  tx: Tx,
  {
    id,
    token,
    evidence,
    ...report
  }: VerifiedReport & { readonly id: string; readonly token: string },
): Promise<{ readonly at: number; readonly isAlarm: boolean }> {
  const at = deps.now()
  const { tail, host, category } = report
  const agent = await requireReportable(tx.db, tail)
  await insertReport(tx, {
    ...report,
    id,
    owner_id: agent.owner_id,
    token_hash: hashToken(token),
    state: 'open',
    received_at: at,
    answer: null,
    answered_at: null,
  })
  if (
    !(await insertEvidence(
      tx,
      evidence.map((each) => ({ ...each, report_id: id })),
    ))
  ) {
    const message = 'One of these requests was reported before. Each can be reported once.'
    throw new CodedError('CONFLICT', message)
  }
  await assertWithin(tx, deps.quotas.host, 'host', host, at)
  await assertWithin(tx, deps.quotas.agent, 'tail', tail, at)
  await tellOwner(deps, tx, agent, { id, host, category }, at)
  const since = at - DAY_MS
  const isNewHost = await isOnlyReport(tx.db, tail, host, since)
  return { at, isAlarm: isNewHost && (await countHosts(tx.db, tail, since)) === ALARM_HOSTS }
}

/** Asserts that a report which was just stored is within a limit. @throws CodedError RATE_LIMITED */
async function assertWithin(
  tx: Tx,
  rate: RateSetting | null,
  column: 'host' | 'tail',
  value: string,
  at: number,
): Promise<void> {
  if (rate === null) return
  if ((await countReports(tx.db, column, value, at - rate.windowMs)) <= rate.quota) return
  const what = column === 'host' ? `requests to ${value}` : 'this agent'
  throw new CodedError('RATE_LIMITED', `There are ${rate.quota} reports about ${what} already.`, {
    retryAfterSeconds: 3600,
  })
}

/** One notification a day for each host: who has many signed requests must not fill a mailbox. The activity has every report. */
async function tellOwner(
  { site }: ReportDeps,
  tx: Tx,
  { tail, owner_id: ownerId, agent_id: agentId }: AgentRow,
  { id, host, category }: Pick<ReportRow, 'id' | 'host' | 'category'>,
  at: number,
): Promise<void> {
  await appendNotification(tx, {
    ownerId,
    kind: 'report',
    subject: `${tail}:${host}:${Math.floor(at / DAY_MS)}`,
    details: { tail, agentId, host, category, report: id },
    at,
  })
  const agent = didOfAgent(site, tail as Tail)
  await recordAccountActivity(tx, {
    ownerId,
    type: 'owner.report_received',
    details: { agent, category, host, report: id },
    at,
  })
}

type ReporterDeps = Pick<ReportDeps, 'db'>

/** What the reporter sees of a report. @param token null: none was sent @throws CodedError NOT_FOUND */
export async function reportState(
  { db }: ReporterDeps,
  id: string,
  token: string | null,
): Promise<ReportState> {
  const { state, answer, answered_at } = await requireReported(db.read, id, token)
  return { id, state, answer, answeredAt: timestampOrNull(answered_at) }
}

/**
 * Withdraws a report: its text, the contact and the signed requests are deleted. Repeating it changes nothing.
 * @throws CodedError NOT_FOUND
 */
export async function withdrawReport(
  { db }: ReporterDeps,
  id: string,
  token: string | null,
): Promise<void> {
  await db.write(async (tx) => {
    await requireReported(tx.db, id, token)
    await setClosed(tx, id)
    await clearReport(tx, id)
  })
}

/** Nobody learns whether the id or the token is wrong. */
async function requireReported(db: Db, id: string, token: string | null): Promise<ReportRow> {
  const report = token === null ? undefined : await reportByToken(db, id, hashToken(token))
  if (report !== undefined) return report
  throw new CodedError(
    'NOT_FOUND',
    'There is no report with this id and token. Send the token as Authorization: Bearer.',
  )
}

/** Deletes signed requests after 90 days, and reports after 400. */
export async function pruneReports({ db, now }: Pick<ReportDeps, 'db' | 'now'>): Promise<void> {
  const at = now()
  await db.write(async (tx) => {
    await clearRequestsBefore(tx, at - REQUEST_RETENTION_MS)
    await deleteReportsBefore(tx, at - REPORT_RETENTION_MS)
  })
}
