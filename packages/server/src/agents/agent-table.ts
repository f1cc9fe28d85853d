import type { AgentStatus } from '@countersign/protocol'
import type { AgentRow, Db, Tx } from '../core/database/database.ts'
import { prepared } from '../core/database/prepared.ts'

export type NewAgent = Pick<
  AgentRow,
  'seq' | 'tail' | 'public_key' | 'agent_id' | 'owner_id' | 'claimed_at' | 'grade'
>

const insert = prepared<NewAgent, { seq: number }>((db, param) =>
  db
    .insertInto('agents')
    .values({
      seq: param('seq'),
      tail: param('tail'),
      public_key: param('public_key'),
      agent_id: param('agent_id'),
      owner_id: param('owner_id'),
      status: 'active',
      status_reason: null,
      status_set_by: 'owner',
      pair_slot: 0,
      claimed_at: param('claimed_at'),
      status_changed_at: param('claimed_at'),
      updated_at: param('claimed_at'),
      version: param('seq'),
      username: null,
      display_name: null,
      description: null,
      username_skeleton: null,
      avatar: null,
      grade: param('grade'),
    })
    .onConflict((conflict) => conflict.columns(['public_key', 'agent_id', 'pair_slot']).doNothing())
    .returning('seq'),
)

/** @returns false where the pair of key and label is taken by an agent that is not revoked */
export async function insertAgent(tx: Tx, agent: NewAgent): Promise<boolean> {
  return (await insert(tx.db, agent)).length > 0
}

const selectOtherHolder = prepared<{ key: Uint8Array; owner: number }, { seq: number }>(
  (db, param) =>
    db
      .selectFrom('agents')
      .select('seq')
      .where('public_key', '=', param('key'))
      .where('owner_id', '!=', param('owner'))
      .where('status', '!=', 'revoked')
      .limit(1),
)

/** Whether a key has a live certificate under another owner. Certain, since it is asked under the writer's lock. */
export async function isHeldByAnother(tx: Tx, key: Uint8Array, owner: number): Promise<boolean> {
  return (await selectOtherHolder(tx.db, { key, owner })).length > 0
}

const selectByTail = prepared<{ tail: string }, AgentRow>((db, param) =>
  db.selectFrom('agents').selectAll().where('tail', '=', param('tail')),
)

export async function agentByTail(db: Db, tail: string): Promise<AgentRow | undefined> {
  return (await selectByTail(db, { tail }))[0]
}

/** Those of some agents that there are, in no order. */
export async function agentsByTails(db: Db, tails: readonly string[]): Promise<AgentRow[]> {
  // `in ()` is no SQL; SQLite alone takes it.
  if (tails.length === 0) return []
  return db.selectFrom('agents').selectAll().where('tail', 'in', tails).execute()
}

const selectByUsername = prepared<{ username: string }, { tail: string }>((db, param) =>
  db.selectFrom('agents').select('tail').where('username', '=', param('username')),
)

const selectLookingLike = prepared<{ skeleton: string }, AgentRow>((db, param) =>
  db.selectFrom('agents').selectAll().where('username_skeleton', '=', param('skeleton')),
)

/** The agent whose username has this shape, if any. */
export async function agentLookingLike(db: Db, skeleton: string): Promise<AgentRow | undefined> {
  return (await selectLookingLike(db, { skeleton }))[0]
}

export async function tailOfUsername(db: Db, username: string): Promise<string | undefined> {
  return (await selectByUsername(db, { username }))[0]?.tail
}

const selectChosen = prepared<{ key: Uint8Array }, { tail: string }>((db, param) =>
  db
    .selectFrom('agents')
    .select('tail')
    .where('public_key', '=', param('key'))
    .orderBy((eb) =>
      eb
        .case()
        .when('status', '=', 'active')
        .then(0)
        .when('status', '=', 'suspended')
        .then(1)
        .else(2)
        .end(),
    )
    .orderBy('seq')
    .limit(1),
)

/** Of the agents with one key: active before suspended before revoked, then the oldest claim. */
export async function chosenTailOfKey(db: Db, key: Uint8Array): Promise<string | undefined> {
  return (await selectChosen(db, { key }))[0]?.tail
}

const selectRange = prepared<{ after: number; limit: number }, AgentRow>((db, param) =>
  db
    .selectFrom('agents')
    .selectAll()
    .where('seq', '>', param('after'))
    .orderBy('seq')
    .limit(param('limit')),
)

/** Agents in the order of their claims, a page at a time. */
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
  readonly setBy: 'owner' | 'operator'
  readonly at: number
  readonly version: number
}

const setStatus = prepared<StatusChange, { seq: number }>((db, param) =>
  db
    .updateTable('agents')
    .set((eb) => ({
      status: param('to'),
      status_reason: param('reason'),
      status_set_by: param('setBy'),
      status_changed_at: param('at'),
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
 * A revoked agent gives its place among pairs free; its username stays with it.
 * @returns false where the agent is no longer in the status that the change starts from, and nothing changed
 */
export async function updateStatus(tx: Tx, change: StatusChange): Promise<boolean> {
  return (await setStatus(tx.db, change)).length > 0
}

/** Notes that something about an agent has changed, told by the event of this number. */
export async function touchAgent(
  tx: Tx,
  tail: string,
  { at, version }: { readonly at: number; readonly version: number },
): Promise<void> {
  await tx.db
    .updateTable('agents')
    .set({ updated_at: at, version })
    .where('tail', '=', tail)
    .execute()
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

/** Notes the grade that the event of this number tells. */
export async function setGrade(tx: Tx, change: GradeChange): Promise<void> {
  await updateGrade(tx.db, change)
}
