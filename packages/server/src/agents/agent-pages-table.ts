import { type RawBuilder, SqliteAdapter, sql } from 'kysely'
import type { AgentRow, Db } from '../core/database/database.ts'
import { prepared } from '../core/database/prepared.ts'

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

const UNTOUCHED = sql<boolean>`(updated_at = claimed_at and status_changed_at = claimed_at
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
