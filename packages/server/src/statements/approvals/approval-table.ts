import type { ApprovalState } from '@countersign/protocol'
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Db, Tables, Tx } from '../../database/database.ts'
import type { ApprovalRow } from '../../database/schema/approval-rows.ts'

/** What decides whether an approval or a mandate still counts, and the names of its agent. */
export interface CurrentAgent {
  readonly agent_status: string
  readonly agent_owner: number
  readonly agent_key: number
  readonly agent_approvals: 0 | 1
  readonly display_name: string | null
  readonly username: string | null
  readonly owner_suspended_at: number | null
}

/** The columns of `CurrentAgent`, of the tables `agent` and `owner`. */
export const CURRENT_AGENT = [
  'agent.status as agent_status',
  'agent.owner_id as agent_owner',
  'agent.key_sequence as agent_key',
  'agent.approvals as agent_approvals',
  'agent.display_name',
  'agent.username',
  'owner.suspended_at as owner_suspended_at',
] as const

/** An approval with what decides whether it still counts. */
export type CurrentApproval = ApprovalRow & CurrentAgent

type Joined = SelectQueryBuilder<
  Tables & { approval: ApprovalRow; agent: Tables['agents']; owner: Tables['owners'] },
  'approval' | 'agent' | 'owner',
  CurrentApproval
>

function current(db: Db): Joined {
  return db
    .selectFrom('approvals as approval')
    .innerJoin('agents as agent', 'agent.tail', 'approval.tail')
    .innerJoin('owners as owner', 'owner.id', 'approval.owner_id')
    .selectAll('approval')
    .select(CURRENT_AGENT) as unknown as Joined
}

/** An approval by its id. */
export function approvalById(db: Db, id: string): Promise<CurrentApproval | undefined> {
  return current(db).where('approval.id', '=', id).executeTakeFirst()
}

/**
 * The approvals of an owner, newest first.
 * @param before only those with a lower `seq`
 */
export function approvalsOfOwner(
  db: Db,
  ownerId: number,
  before: number,
  limit: number,
): Promise<CurrentApproval[]> {
  return current(db)
    .where('approval.owner_id', '=', ownerId)
    .where('approval.seq', '<', before)
    .orderBy('approval.seq', 'desc')
    .limit(limit)
    .execute()
}

/** Those of an owner that are stored as pending and whose time is not over, newest first. */
export function undecidedOfOwner(db: Db, ownerId: number, now: number): Promise<CurrentApproval[]> {
  return current(db)
    .where('approval.owner_id', '=', ownerId)
    .where('approval.state', '=', 'pending')
    .where('approval.expires_at', '>', now)
    .orderBy('approval.seq', 'desc')
    .execute()
}

export async function insertApproval(tx: Tx, row: ApprovalRow): Promise<void> {
  await tx.db.insertInto('approvals').values(row).execute()
}

/** The times at which an agent has asked its owner, newest first: not what mandates approved. @param after milliseconds since 1970 */
export async function timesOfAsking(db: Db, tail: string, after: number): Promise<number[]> {
  const rows = await db
    .selectFrom('approvals')
    .select('created_at')
    .where('tail', '=', tail)
    .where('created_at', '>', after)
    .where('mandate_id', 'is', null)
    .orderBy('created_at', 'desc')
    .execute()
  return rows.map((each) => each.created_at)
}

/** The last decisions of one owner about what an agent has asked, newest first: a mandate does not end a pause after denials. */
export function lastDecisions(
  db: Db,
  tail: string,
  ownerId: number,
  limit: number,
): Promise<Pick<ApprovalRow, 'state' | 'decided_at'>[]> {
  return db
    .selectFrom('approvals')
    .select(['state', 'decided_at'])
    .where('tail', '=', tail)
    .where('owner_id', '=', ownerId)
    .where('decided_at', 'is not', null)
    .where('mandate_id', 'is', null)
    .orderBy('decided_at', 'desc')
    .limit(limit)
    .execute()
}

/** Whether an owner has approved a request of an agent to a site. */
export async function hasApproved(
  db: Db,
  { tail, owner_id, origin }: Pick<ApprovalRow, 'tail' | 'owner_id' | 'origin'>,
): Promise<boolean> {
  const row = await db
    .selectFrom('approvals')
    .select('id')
    .where('tail', '=', tail)
    .where('owner_id', '=', owner_id)
    .where('origin', '=', origin)
    .where('state', '=', 'approved')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** How many requests a mandate has approved after a time. */
export async function countUses(db: Db, mandateId: string, after: number): Promise<number> {
  const { uses } = await db
    .selectFrom('approvals')
    .select((eb) => eb.fn.countAll().as('uses'))
    .where('mandate_id', '=', mandateId)
    .where('created_at', '>', after)
    .executeTakeFirstOrThrow()
  return Number(uses)
}

/** What they amount to, in hundredths, whether agents have used them or not. */
export async function amountOfUses(db: Db, mandateId: string, after: number): Promise<number> {
  const { amount } = await db
    .selectFrom('approvals')
    .select((eb) => eb.fn.sum('hundredths').as('amount'))
    .where('mandate_id', '=', mandateId)
    .where('created_at', '>', after)
    .executeTakeFirstOrThrow()
  return Number(amount ?? 0)
}

/** The last requests that a mandate has approved, newest first. */
export function lastUses(
  db: Db,
  mandateId: string,
  limit: number,
): Promise<Pick<ApprovalRow, 'id' | 'method' | 'url' | 'hundredths' | 'created_at'>[]> {
  return db
    .selectFrom('approvals')
    .select(['id', 'method', 'url', 'hundredths', 'created_at'])
    .where('mandate_id', '=', mandateId)
    .orderBy('created_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()
}

/** What a decision writes. */
export type Decision = Pick<ApprovalRow, 'decided_at' | 'decided_by'> & {
  readonly state: 'approved' | 'denied'
} & Partial<Pick<ApprovalRow, 'passkey_key' | 'client_data' | 'authenticator_data' | 'signature'>>

/** Stores a decision. @returns false, without a change, if it was decided before or its time is over */
export async function decideApproval(
  tx: Tx,
  id: string,
  decision: Decision,
  now: number,
): Promise<boolean> {
  const decided = await tx.db
    .updateTable('approvals')
    .set(decision)
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .where('expires_at', '>', now)
    .returning('id')
    .execute()
  return decided.length > 0
}

/** Stores that pending approvals of an agent have ended. */
export async function endApprovals(
  tx: Tx,
  ids: readonly string[],
  state: Extract<ApprovalState, 'expired' | 'cancelled'>,
): Promise<void> {
  if (ids.length === 0) return
  await tx.db
    .updateTable('approvals')
    .set({ state })
    .where('id', 'in', ids)
    .where('state', '=', 'pending')
    .execute()
}

/** Those of an agent that are stored as pending. */
export function storedAsPending(db: Db, tail: string): Promise<CurrentApproval[]> {
  return current(db)
    .where('approval.tail', '=', tail)
    .where('approval.state', '=', 'pending')
    .execute()
}

/** Turns asking on or off, without an event: it is not public. */
export async function setAsking(tx: Tx, tail: string, approvals: 0 | 1): Promise<void> {
  await tx.db.updateTable('agents').set({ approvals }).where('tail', '=', tail).execute()
}

const ended = sql<number>`coalesce(decided_at, expires_at)`

/** Deletes the bodies and messages of approvals that ended before `textsBefore`, and the approvals that agents asked for before `rowsBefore`. */
export async function deleteOldApprovals(
  tx: Tx,
  { textsBefore, rowsBefore }: { readonly textsBefore: number; readonly rowsBefore: number },
): Promise<void> {
  await tx.db
    .updateTable('approvals')
    .set({ body: null, message: null })
    .where((eb) => eb.or([eb('body', 'is not', null), eb('message', 'is not', null)]))
    .where('created_at', '<', textsBefore)
    .where(ended, '<', textsBefore)
    .execute()
  await tx.db.deleteFrom('approvals').where('created_at', '<', rowsBefore).execute()
}
