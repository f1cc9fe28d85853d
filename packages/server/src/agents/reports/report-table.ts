import type { Db, Tx } from '../../database/database.ts'
import type { ReportEvidenceRow, ReportRow } from '../../database/schema/report-rows.ts'

export async function insertReport(tx: Tx, row: ReportRow): Promise<void> {
  await tx.db.insertInto('reports').values(row).execute()
}

/** @returns false if one of the signatures was reported before; then the transaction must be undone */
export async function insertEvidence(tx: Tx, rows: readonly ReportEvidenceRow[]): Promise<boolean> {
  const inserted = await tx.db
    .insertInto('report_evidence')
    .values([...rows])
    .onConflict((conflict) => conflict.doNothing())
    .returning('position')
    .execute()
  return inserted.length === rows.length
}

export function reportById(db: Db, id: string): Promise<ReportRow | undefined> {
  return db.selectFrom('reports').selectAll().where('id', '=', id).executeTakeFirst()
}

/** A report by its id and the hash of its token. */
export function reportByToken(
  db: Db,
  id: string,
  tokenHash: Uint8Array,
): Promise<ReportRow | undefined> {
  return db
    .selectFrom('reports')
    .selectAll()
    .where('id', '=', id)
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst()
}

/** The requests of a report, in their order. */
export function evidenceOf(db: Db, reportId: string): Promise<ReportEvidenceRow[]> {
  return db
    .selectFrom('report_evidence')
    .selectAll()
    .where('report_id', '=', reportId)
    .orderBy('position')
    .execute()
}

/** How many reports there are about requests to a host, or about an agent, since a time. */
export async function countReports(
  db: Db,
  column: 'host' | 'tail',
  value: string,
  since: number,
): Promise<number> {
  const { count } = await db
    .selectFrom('reports')
    .select((eb) => eb.fn.countAll().as('count'))
    .where(column, '=', value)
    .where('received_at', '>', since)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Whether there is exactly one report about requests of an agent to a host since a time. */
export async function isOnlyReport(
  db: Db,
  tail: string,
  host: string,
  since: number,
): Promise<boolean> {
  const rows = await db
    .selectFrom('reports')
    .select('id')
    .where('tail', '=', tail)
    .where('received_at', '>', since)
    .where('host', '=', host)
    .limit(2)
    .execute()
  return rows.length === 1
}

/** The number of hosts in the reports about an agent since a time. */
export async function countHosts(db: Db, tail: string, since: number): Promise<number> {
  const { hosts } = await db
    .selectFrom('reports')
    .select((eb) => eb.fn.count('host').distinct().as('hosts'))
    .where('tail', '=', tail)
    .where('received_at', '>', since)
    .executeTakeFirstOrThrow()
  return Number(hosts)
}

export interface ReportFilter {
  /** Null: of all owners. */
  readonly ownerId: number | null
  /** Null: about all agents. */
  readonly tail: string | null
  /** Only those before this one. */
  readonly before?: Pick<ReportRow, 'id' | 'received_at'>
}

/** Reports, newest first. */
export function reportsBefore(
  db: Db,
  { ownerId, tail, before }: ReportFilter,
  limit: number,
): Promise<ReportRow[]> {
  let query = db.selectFrom('reports').selectAll()
  if (ownerId !== null) query = query.where('owner_id', '=', ownerId)
  if (tail !== null) query = query.where('tail', '=', tail)
  if (before !== undefined) {
    const { received_at: at, id } = before
    query = query.where((eb) =>
      eb.or([eb('received_at', '<', at), eb.and([eb('received_at', '=', at), eb('id', '<', id)])]),
    )
  }
  return query.orderBy('received_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
}

/** The reports of an owner about agents that another owner has now, newest first. */
export function reportsOfGivenAgents(db: Db, ownerId: number): Promise<ReportRow[]> {
  return db
    .selectFrom('reports')
    .innerJoin('agents', 'agents.tail', 'reports.tail')
    .selectAll('reports')
    .where('reports.owner_id', '=', ownerId)
    .where('agents.owner_id', '<>', ownerId)
    .orderBy('reports.received_at', 'desc')
    .orderBy('reports.id', 'desc')
    .execute()
}

/** @returns false, without a change, if the report is no longer open */
export async function answerOpenReport(
  tx: Tx,
  id: string,
  answer: string,
  at: number,
): Promise<boolean> {
  const answered = await tx.db
    .updateTable('reports')
    .set({ state: 'answered', answer, answered_at: at })
    .where('id', '=', id)
    .where('state', '=', 'open')
    .returning('id')
    .execute()
  return answered.length > 0
}

/** @returns false if there is no such report */
export async function setClosed(tx: Tx, id: string): Promise<boolean> {
  const closed = await tx.db
    .updateTable('reports')
    .set({ state: 'closed' })
    .where('id', '=', id)
    .returning('id')
    .execute()
  return closed.length > 0
}

/** Deletes what the reporter wrote and sent. That a signature was reported stays. */
export async function clearReport(tx: Tx, id: string): Promise<void> {
  await tx.db
    .updateTable('reports')
    .set({ text: null, contact: null })
    .where('id', '=', id)
    .execute()
  await tx.db
    .updateTable('report_evidence')
    .set({ request: null })
    .where('report_id', '=', id)
    .execute()
}

/** Deletes the requests of reports from before a time. */
export async function clearRequestsBefore(tx: Tx, time: number): Promise<void> {
  const old = tx.db.selectFrom('reports').select('id').where('received_at', '<', time)
  await tx.db
    .updateTable('report_evidence')
    .set({ request: null })
    .where('request', 'is not', null)
    .where('report_id', 'in', old)
    .execute()
}

/** Deletes reports from before a time. */
export async function deleteReportsBefore(tx: Tx, time: number): Promise<void> {
  const old = tx.db.selectFrom('reports').select('id').where('received_at', '<', time)
  await tx.db.deleteFrom('report_evidence').where('report_id', 'in', old).execute()
  await tx.db.deleteFrom('reports').where('received_at', '<', time).execute()
}

/** Deletes all reports of an owner. @param tails only about these agents; null: about all */
export async function eraseReports(
  tx: Tx,
  ownerId: number,
  tails: readonly string[] | null,
): Promise<void> {
  let reports = tx.db.selectFrom('reports').select('id').where('owner_id', '=', ownerId)
  if (tails !== null) reports = reports.where('tail', 'in', tails)
  await tx.db.deleteFrom('report_evidence').where('report_id', 'in', reports).execute()
  let erased = tx.db.deleteFrom('reports').where('owner_id', '=', ownerId)
  if (tails !== null) erased = erased.where('tail', 'in', tails)
  await erased.execute()
}
