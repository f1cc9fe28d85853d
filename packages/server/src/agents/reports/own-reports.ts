import {
  type AgentReports,
  type AgentReportsQuery,
  CodedError,
  type Evidence,
  keyThumbprint,
  type ReportEvidence,
  type Tail,
} from '@countersign/protocol'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { didOfAgent, type Site, tailOf } from '../../base/site.ts'
import { timestamp, timestampOrNull } from '../../base/timestamp.ts'
import type { AgentRow, Db } from '../../database/database.ts'
import type { ReportEvidenceRow, ReportRow } from '../../database/schema/report-rows.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { agentByTail } from '../agent-table.ts'
import { noOwnAgent } from '../find-agent.ts'
import { type AgentKey, keysOfAgent } from '../keys/key-table.ts'
import {
  answerOpenReport,
  evidenceOf,
  type ReportFilter,
  reportById,
  reportsBefore,
  reportsOfGivenAgents,
  setClosed,
} from './report-table.ts'

type OwnReportDeps = Pick<CoreDeps, 'db' | 'site' | 'now'>

const PAGE_SIZE = 50
const ALL = Number.MAX_SAFE_INTEGER

/**
 * The reports about an agent of an owner, and those that arrived before the owner gave the agent to another.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function listReports(
  { db, site }: Pick<OwnReportDeps, 'db' | 'site'>,
  ownerId: number,
  reference: string,
  { before }: AgentReportsQuery,
): Promise<AgentReports> {
  const tail = tailOf(site.naming, reference)
  const agent = await agentByTail(db.read, tail)
  const filter: ReportFilter = { ownerId, tail }
  const last = before === undefined ? null : await requireOwnReport(db.read, ownerId, tail, before)
  const found = await reportsBefore(
    db.read,
    last === null ? filter : { ...filter, before: last },
    PAGE_SIZE + 1,
  )
  if (agent === undefined || (agent.owner_id !== ownerId && found.length + (last ? 1 : 0) === 0)) {
    throw noOwnAgent()
  }
  const page = found.slice(0, PAGE_SIZE)
  const keys = page.length === 0 ? [] : await keysOfAgent(db.read, agent)
  return {
    reports: await Promise.all(
      page.map(async (row) => ({
        ...describeReport(row, await evidenceOf(db.read, row.id), keys),
        contact: row.contact,
      })),
    ),
    next: found.length > PAGE_SIZE ? (page.at(-1)?.id ?? null) : null,
  }
}

/**
 * Answers a report once. The reporter can read the answer.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND; CONFLICT if it is answered or closed; FORBIDDEN if the owner is suspended
 */
export async function answerReport(
  { db, site, now }: OwnReportDeps,
  ownerId: number,
  { agent, id }: { readonly agent: string; readonly id: string },
  text: string,
): Promise<void> {
  const tail = tailOf(site.naming, agent)
  await db.write(async (tx) => {
    await assertOwnerNotSuspended(tx.db, ownerId)
    const { state } = await requireOwnReport(tx.db, ownerId, tail, id)
    if (await answerOpenReport(tx, id, text, now())) return
    throw new CodedError('CONFLICT', `This report is ${state}. It can be answered once.`)
  })
}

/**
 * The signed requests of a report.
 * @throws CodedError VALIDATION_ERROR; NOT_FOUND, also once the requests are deleted
 */
export async function getEvidence(
  { db, site }: Pick<OwnReportDeps, 'db' | 'site'>,
  ownerId: number,
  { agent, id }: { readonly agent: string; readonly id: string },
): Promise<ReportEvidence> {
  await requireOwnReport(db.read, ownerId, tailOf(site.naming, agent), id)
  const evidence = storedRequests(await evidenceOf(db.read, id))
  if (evidence.length > 0) return { evidence }
  throw new CodedError(
    'NOT_FOUND',
    'The requests of this report are deleted: after 90 days, or because it was withdrawn.',
  )
}

/** @throws CodedError NOT_FOUND, also for a report of another owner or about another agent */
async function requireOwnReport(
  db: Db,
  ownerId: number,
  tail: Tail,
  id: string,
): Promise<ReportRow> {
  const report = await reportById(db, id)
  if (report !== undefined && report.owner_id === ownerId && report.tail === tail) return report
  throw new CodedError('NOT_FOUND', 'You have no report with this id about this agent.')
}

function storedRequests(rows: readonly ReportEvidenceRow[]): Evidence[] {
  return rows.flatMap(({ request }) => (request === null ? [] : [JSON.parse(request) as Evidence]))
}

/** @param keys all keys of the agent */
function describeReport(
  row: ReportRow,
  evidence: readonly ReportEvidenceRow[],
  keys: readonly AgentKey[],
) {
  const { id, host, category, text, state, answer } = row
  return {
    id,
    host,
    category,
    text,
    state,
    answer,
    receivedAt: timestamp(row.received_at),
    answeredAt: timestampOrNull(row.answered_at),
    requests: evidence.map((each) => ({
      method: each.method,
      path: each.path,
      url: each.request === null ? null : (JSON.parse(each.request) as Evidence).url,
      signedAt: timestamp(each.created),
      keyid: each.keyid,
      delegate: each.delegate,
      key: describeKey(keys, each.keyid),
    })),
  }
}

/** A restored database may know a later key as lost. */
function describeKey(keys: readonly AgentKey[], keyid: string) {
  const key = keys.find(
    ({ state, public_key }) => state !== 'lost' && keyThumbprint(public_key) === keyid,
  )
  if (key === undefined) return { sequence: 0, state: 'lost' as const, until: null }
  return { sequence: key.sequence, state: key.state, until: timestampOrNull(key.valid_until) }
}

/** The reports about an agent for the export of its owner, without the contact, which is of somebody else. */
export async function exportReports(db: Db, agent: AgentRow) {
  const rows = await reportsBefore(db, { ownerId: agent.owner_id, tail: agent.tail }, ALL)
  return rows.length === 0 ? [] : exported(db, rows, await keysOfAgent(db, agent))
}

/** The reports about agents that an owner has given to others since. */
export async function exportFormerReports(db: Db, site: Site, ownerId: number) {
  const rows = await reportsOfGivenAgents(db, ownerId)
  return Promise.all(
    rows.map(async (row) => {
      const agent = await agentByTail(db, row.tail)
      const keys = agent === undefined ? [] : await keysOfAgent(db, agent)
      const [report] = await exported(db, [row], keys)
      const did = didOfAgent(site, row.tail as Tail)
      return { [site.naming.didField]: did, ...(report as NonNullable<typeof report>) }
    }),
  )
}

function exported(db: Db, rows: readonly ReportRow[], keys: readonly AgentKey[]) {
  return Promise.all(
    rows.map(async (row) => {
      const evidence = await evidenceOf(db, row.id)
      return { ...describeReport(row, evidence, keys), evidence: storedRequests(evidence) }
    }),
  )
}

/** What the operator sees of a report: no queries, in which sites have personal data, and no contact. */
export interface OperatorReport {
  readonly id: string
  readonly agent: string
  readonly host: string
  readonly category: string
  readonly state: string
  readonly receivedAt: string
  readonly text: string | null
  readonly requests: readonly {
    readonly method: string
    readonly path: string
    readonly signedAt: string
  }[]
}

/** The newest reports of all owners. @param reference of an agent; null: about all agents */
export async function reportsOfEverybody(
  { db, site }: Pick<OwnReportDeps, 'db' | 'site'>,
  reference: string | null,
  limit: number,
): Promise<OperatorReport[]> {
  const tail = reference === null ? null : tailOf(site.naming, reference)
  const rows = await reportsBefore(db.read, { ownerId: null, tail }, limit)
  return Promise.all(rows.map((row) => describeForOperator(db.read, site, row)))
}

/** @throws CodedError NOT_FOUND */
export async function reportForOperator(
  { db, site }: Pick<OwnReportDeps, 'db' | 'site'>,
  id: string,
): Promise<OperatorReport> {
  const row = await reportById(db.read, id)
  if (row !== undefined) return describeForOperator(db.read, site, row)
  throw noReport()
}

/** Closes a report: its owner can no longer answer it. @throws CodedError NOT_FOUND */
export async function closeReport({ db }: Pick<OwnReportDeps, 'db'>, id: string): Promise<void> {
  if (!(await db.write((tx) => setClosed(tx, id)))) throw noReport()
}

function noReport(): CodedError {
  return new CodedError('NOT_FOUND', 'There is no report with this id.')
}

async function describeForOperator(db: Db, site: Site, row: ReportRow): Promise<OperatorReport> {
  const { id, host, category, state, text } = row
  return {
    id,
    agent: didOfAgent(site, row.tail as Tail),
    host,
    category,
    state,
    receivedAt: timestamp(row.received_at),
    text,
    requests: (await evidenceOf(db, id)).map(({ method, path, created }) => ({
      method,
      path,
      signedAt: timestamp(created),
    })),
  }
}
