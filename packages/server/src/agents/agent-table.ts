import type { AgentStatus } from '@countersign/protocol'
import { type RawBuilder, SqliteAdapter, sql } from 'kysely'
import type { AgentRow, Db, Tx } from '../core/database/database.ts'
import { prepared } from '../core/database/prepared.ts'
import { KEY_PRIORITY } from './key-priority.ts'

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

const RANKS = sql.join(
  KEY_PRIORITY.map((status, rank) => sql`when ${sql.lit(status)} then ${sql.lit(rank)}`),
  sql` `,
)

const selectChosen = prepared<{ key: Uint8Array }, { tail: string }>((db, param) =>
  db
    .selectFrom('agents')
    .select('tail')
    .where('public_key', '=', param('key'))
    .orderBy(sql`case status ${RANKS} end`)
    .orderBy('seq')
    .limit(1),
)

/** The agent that a lookup by this current key answers for, by `KEY_PRIORITY` and then by age. */
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

/** The active agents of an owner in the order of their claims, a page at a time. */
export function activeAgentsAfter(
  db: Db,
  ownerId: number,
  after: number,
  limit: number,
): Promise<AgentRow[]> {
  return selectActiveAfter(db, { ownerId, after, limit })
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

/** A page of agents, a text a column: as rows, each an object with a buffer in it, they take five times as long. */
export interface AgentPage {
  readonly count: number
  /** `seq` of the last one. */
  readonly last: number
  /** End to end. */
  readonly tails: string
  /** Hexadecimal, end to end. */
  readonly publicKeys: string
  /** The first letter of each. */
  readonly statuses: string
  /** For each 1 where nobody has changed anything of the agent since its claim, or 0. */
  readonly untouched: string
  /** In decimal, with a blank between two, as the following. */
  readonly seqs: string
  readonly ownerIds: string
  readonly versions: string
  readonly claimedAts: string
}

interface Range {
  readonly after: number
  readonly limit: number
}

const UNTOUCHED = sql<boolean>`(key_sequence = 1 and updated_at = claimed_at and status_changed_at = claimed_at
  and status_reason is null and username is null and display_name is null and description is null
  and avatar is null)`

const selectPage = prepared<Range, Nullable<AgentPage>>((db, param) =>
  db
    .selectFrom(
      db
        .selectFrom('agents')
        .selectAll()
        .where('seq', '>', param('after'))
        .orderBy('seq')
        .limit(param('limit'))
        .as('page'),
    )
    .select((eb) => [
      eb.fn.countAll<number>().as('count'),
      eb.fn.max('seq').as('last'),
      joined(sql`tail`).as('tails'),
      joined(hexOf(db, sql`public_key`)).as('publicKeys'),
      joined(sql`substr(status, 1, 1)`).as('statuses'),
      joined(sql`case when ${UNTOUCHED} then '1' else '0' end`).as('untouched'),
      listed(sql`seq`).as('seqs'),
      listed(sql`owner_id`).as('ownerIds'),
      listed(sql`version`).as('versions'),
      listed(sql`claimed_at`).as('claimedAts'),
    ]),
)

/** Agents in the order of their claims; every column in the same order. Null after the last. */
export async function agentPageAfter(
  db: Db,
  after: number,
  limit: number,
): Promise<AgentPage | null> {
  const page = (await selectPage(db, { after, limit }))[0]
  return page === undefined || page.last === null ? null : (page as AgentPage)
}

const selectTouched = prepared<{ after: number; last: number }, AgentRow>((db, param) =>
  db
    .selectFrom('agents')
    .selectAll()
    .where('seq', '>', param('after'))
    .where('seq', '<=', param('last'))
    .where(sql<boolean>`not ${UNTOUCHED}`),
)

/** Those agents of a range of which something has changed since their claim. */
export function touchedAgents(db: Db, after: number, last: number): Promise<AgentRow[]> {
  return selectTouched(db, { after, last })
}

type Nullable<T> = { [K in keyof T]: T[K] | null }

function joined(column: RawBuilder<unknown>): RawBuilder<string> {
  return sql`string_agg(${column}, '')`
}

function listed(column: RawBuilder<unknown>): RawBuilder<string> {
  return sql`string_agg(cast(${column} as text), ' ')`
}

function hexOf(db: Db, column: RawBuilder<unknown>): RawBuilder<string> {
  const isSqlite = db.getExecutor().adapter instanceof SqliteAdapter
  return isSqlite ? sql`hex(${column})` : sql`encode(${column}, 'hex')`
}
