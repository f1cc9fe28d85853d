import type { AgentStatus, StatusActor } from '@countersign/protocol'
import { sql } from 'kysely'
import type { AgentRow, Db, Tx } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'

/**
 * Several agents may have one key, under different labels. A lookup by the key returns the agent whose status comes first
 * here and, among agents with the same status, the oldest claim (docs/contract/resources.md).
 */
export const KEY_PRIORITY: readonly AgentStatus[] = ['active', 'suspended', 'revoked']

/** The status reason of agents that are suspended because their owner is. */
export const OWNER_SUSPENDED = 'owner_suspended'

const selectByTail = prepared<{ tail: string }, AgentRow>((db, param) =>
  db.selectFrom('agents').selectAll().where('tail', '=', param('tail')),
)

export async function agentByTail(db: Db, tail: string): Promise<AgentRow | undefined> {
  return (await selectByTail(db, { tail }))[0]
}

/** Whether a restored database does not have the current key of an agent, but only its thumbprint. */
export function isKeyLost(agent: Pick<AgentRow, 'public_key' | 'key_thumbprint'>): boolean {
  return Buffer.compare(agent.public_key, agent.key_thumbprint) === 0
}

/** The rows of the given agents, in no particular order. Unknown tails are left out. */
export async function agentsByTails(db: Db, tails: readonly string[]): Promise<AgentRow[]> {
  // PostgreSQL rejects `in ()`.
  if (tails.length === 0) return []
  return db.selectFrom('agents').selectAll().where('tail', 'in', tails).execute()
}

const selectByUsername = prepared<{ username: string }, { tail: string }>((db, param) =>
  db.selectFrom('agents').select('tail').where('username', '=', param('username')),
)

const selectBySkeleton = prepared<{ skeleton: string }, AgentRow>((db, param) =>
  db.selectFrom('agents').selectAll().where('username_skeleton', '=', param('skeleton')),
)

/** The agent whose username has this confusable skeleton, if any. */
export async function agentBySkeleton(db: Db, skeleton: string): Promise<AgentRow | undefined> {
  return (await selectBySkeleton(db, { skeleton }))[0]
}

export async function tailOfUsername(db: Db, username: string): Promise<string | undefined> {
  return (await selectByUsername(db, { username }))[0]?.tail
}

const RANKS = sql.join(
  KEY_PRIORITY.map((status, rank) => sql`when ${sql.lit(status)} then ${sql.lit(rank)}`),
  sql` `,
)

const selectPreferred = prepared<{ key: Uint8Array }, { tail: string }>((db, param) =>
  db
    .selectFrom('agents')
    .select('tail')
    .where('public_key', '=', param('key'))
    .orderBy(sql`case status ${RANKS} end`)
    .orderBy('seq')
    .limit(1),
)

/** The tail of the agent that a lookup by this key returns: the first by `KEY_PRIORITY`, then the oldest claim. */
export async function preferredTailOfKey(db: Db, key: Uint8Array): Promise<string | undefined> {
  return (await selectPreferred(db, { key }))[0]?.tail
}

const selectRange = prepared<{ after: number; limit: number }, AgentRow>((db, param) =>
  db
    .selectFrom('agents')
    .selectAll()
    .where('seq', '>', param('after'))
    .orderBy('seq')
    .limit(param('limit')),
)

/** A page of agents in the order of their claims, starting after the agent with `seq` = `after`. */
export function agentsAfter(db: Db, after: number, limit: number): Promise<AgentRow[]> {
  return selectRange(db, { after, limit })
}

export function agentsOfOwner(db: Db, ownerId: number): Promise<AgentRow[]> {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .orderBy('seq')
    .execute()
}

/** Whether an owner has ever claimed an agent. */
export async function ownsAgents(db: Db, ownerId: number): Promise<boolean> {
  const row = await db
    .selectFrom('agents')
    .select('seq')
    .where('owner_id', '=', ownerId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

const selectActiveAfter = prepared<{ ownerId: number; after: number; limit: number }, AgentRow>(
  (db, param) =>
    db
      .selectFrom('agents')
      .selectAll()
      .where('owner_id', '=', param('ownerId'))
      .where('seq', '>', param('after'))
      .where('status', '=', 'active')
      .orderBy('seq')
      .limit(param('limit')),
)

/** A page of an owner's active agents in the order of their claims, starting after `seq` = `after`. */
export function activeAgentsAfter(
  db: Db,
  ownerId: number,
  after: number,
  limit: number,
): Promise<AgentRow[]> {
  return selectActiveAfter(db, { ownerId, after, limit })
}

const selectUnrevokedOfKey = prepared<{ key: Uint8Array }, AgentRow>((db, param) =>
  db
    .selectFrom('agents')
    .selectAll()
    .where('public_key', '=', param('key'))
    .where('status', '!=', 'revoked')
    .orderBy('seq'),
)

/** The agents with this current key that are not revoked, of any owner, in the order of their claims. */
export function unrevokedAgentsOfKey(db: Db, key: Uint8Array): Promise<AgentRow[]> {
  return selectUnrevokedOfKey(db, { key })
}

/** All agents with this current key, of any owner and also revoked ones, in the order of their claims. */
export function agentsOfKey(db: Db, key: Uint8Array): Promise<AgentRow[]> {
  return db.selectFrom('agents').selectAll().where('public_key', '=', key).orderBy('seq').execute()
}

/** A page of an owner's agents that are suspended because the owner is, starting after `seq` = `after`. */
export function agentsSuspendedWithOwner(
  db: Db,
  ownerId: number,
  after: number,
  limit: number,
): Promise<AgentRow[]> {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('seq', '>', after)
    .where('status', '=', 'suspended')
    .where('status_set_by', '=', 'operator')
    .where('status_reason', '=', OWNER_SUSPENDED)
    .orderBy('seq')
    .limit(limit)
    .execute()
}

export async function countAgents(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('agents')
    .select((eb) => eb.fn.countAll().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

export interface StatusChange {
  readonly tail: string
  readonly from: AgentStatus
  readonly to: AgentStatus
  readonly reason: string | null
  readonly setBy: StatusActor
  readonly at: number
  readonly time: AgentRow['status_time']
  readonly version: number
}

const updateStatusRow = prepared<StatusChange, { seq: number }>((db, param) =>
  db
    .updateTable('agents')
    .set((eb) => ({
      status: param('to'),
      status_reason: param('reason'),
      status_set_by: param('setBy'),
      status_changed_at: param('at'),
      status_time: param('time'),
      updated_at: param('at'),
      version: param('version'),
      pair_slot: eb
        .case()
        .when(eb.eb(eb.val(param('to')), '=', 'revoked'))
        .then(eb.ref('seq'))
        .else(0)
        .end(),
    }))
    .where('tail', '=', param('tail'))
    .where('status', '=', param('from'))
    .returning('seq'),
)

/**
 * Changes an agent's status. Revoking it frees its key and label pair for another claim, but not its username.
 * @returns false, without a change, if the agent no longer has the status `from`
 */
export async function updateStatus(tx: Tx, change: StatusChange): Promise<boolean> {
  return (await updateStatusRow(tx.db, change)).length > 0
}

/**
 * Records that an agent changed, with the sequence number of the event about it.
 * @param when without `at` for a change that the public does not see
 * @returns the agent, if there is one
 */
export function touchAgent(
  tx: Tx,
  tail: string,
  { at, version }: { readonly at?: number; readonly version: number },
): Promise<AgentRow | undefined> {
  return tx.db
    .updateTable('agents')
    .set(at === undefined ? { version } : { updated_at: at, version })
    .where('tail', '=', tail)
    .returningAll()
    .executeTakeFirst()
}

/** Records that the key of an agent has renounced it, with the sequence number of the event about it. */
export async function setRenounced(
  tx: Tx,
  {
    tail,
    finalAt,
    at,
    version,
  }: {
    readonly tail: string
    readonly finalAt: number
    readonly at: number
    readonly version: number
  },
): Promise<void> {
  await tx.db
    .updateTable('agents')
    .set({ renounce_final_at: finalAt, updated_at: at, version })
    .where('tail', '=', tail)
    .execute()
}

/** @returns false, without a change, if the key of the agent has not renounced it */
export async function clearRenounced(tx: Tx, tail: string): Promise<boolean> {
  const cleared = await tx.db
    .updateTable('agents')
    .set({ renounce_final_at: null })
    .where('tail', '=', tail)
    .where('renounce_final_at', 'is not', null)
    .returning('seq')
    .execute()
  return cleared.length > 0
}

interface GradeChange extends Pick<AgentRow, 'grade' | 'version'> {
  readonly tail: string
}

const updateGrade = prepared<GradeChange, object>((db, param) =>
  db
    .updateTable('agents')
    .set({ grade: param('grade'), version: param('version') })
    .where('tail', '=', param('tail')),
)

/** Stores an agent's new grade, with the sequence number of its `agent.grade_changed` event. */
export async function setGrade(tx: Tx, change: GradeChange): Promise<void> {
  await updateGrade(tx.db, change)
}

/** Stores how many hops a chain of an agent may have, with the sequence number of the event about it. */
export async function setDelegationDepth(
  tx: Tx,
  { tail, ...columns }: Pick<AgentRow, 'tail' | 'delegation_depth' | 'updated_at' | 'version'>,
): Promise<void> {
  await tx.db.updateTable('agents').set(columns).where('tail', '=', tail).execute()
}

/** Stores an agent's signature over its key set as JSON, with the sequence number of the event about it. */
export async function setDirectoryProof(
  tx: Tx,
  { tail, proof, version }: Pick<AgentRow, 'tail' | 'version'> & { readonly proof: string },
): Promise<void> {
  await tx.db
    .updateTable('agents')
    .set({ directory_proof: proof, version })
    .where('tail', '=', tail)
    .execute()
}

/** Gives an agent another owner, with the sequence number of the event about it. */
export async function setOwnerOfAgent(
  tx: Tx,
  tail: string,
  columns: Pick<
    AgentRow,
    | 'owner_id'
    | 'responsible'
    | 'owner_changed_at'
    | 'delegation_depth'
    | 'approvals'
    | 'updated_at'
    | 'version'
  >,
): Promise<void> {
  await tx.db.updateTable('agents').set(columns).where('tail', '=', tail).execute()
}

/** The owners of those agents that ever had another one, by tail. */
export async function ownersOfMoved(
  db: Db,
  tails: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (tails.length === 0) return new Map()
  const rows = await db
    .selectFrom('agents')
    .select(['tail', 'owner_id'])
    .where('tail', 'in', tails)
    .where('owner_changed_at', 'is not', null)
    .execute()
  return new Map(rows.map(({ tail, owner_id }) => [tail, owner_id]))
}
