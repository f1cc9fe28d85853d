import { type RawBuilder, SqliteAdapter, sql } from 'kysely'
import type { AgentRow, Db } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'

/** A page of agents with one string per column. Reading them as row objects with buffers takes five times as long. */
export interface AgentPage {
  readonly count: number
  /** `seq` of the last agent. */
  readonly last: number
  /** Concatenated, 24 characters each. */
  readonly tails: string
  /** Hexadecimal, concatenated, 64 digits each. */
  readonly publicKeys: string
  /** The first letter of each status. */
  readonly statuses: string
  /** One digit per agent: 1 if the agent is unmodified since its claim, else 0. */
  readonly unmodified: string
  /** Decimal numbers separated by spaces, as are the next three. */
  readonly seqs: string
  readonly ownerIds: string
  readonly versions: string
  readonly claimedAts: string
}

interface Range {
  readonly after: number
  readonly limit: number
}

const UNMODIFIED = sql<boolean>`(key_sequence = 1 and updated_at = claimed_at and status_changed_at = claimed_at
  and status_reason is null and username is null and display_name is null and description is null
  and avatar is null and directory_proof is null and status_time = 'exact'
  and delegation_depth = 0 and owner_changed_at is null)`

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
      concatenated(sql`tail`).as('tails'),
      concatenated(hexOf(db, sql`public_key`)).as('publicKeys'),
      concatenated(sql`substr(status, 1, 1)`).as('statuses'),
      concatenated(sql`case when ${UNMODIFIED} then '1' else '0' end`).as('unmodified'),
      spaceSeparated(sql`seq`).as('seqs'),
      spaceSeparated(sql`owner_id`).as('ownerIds'),
      spaceSeparated(sql`version`).as('versions'),
      spaceSeparated(sql`claimed_at`).as('claimedAts'),
    ]),
)

/** A page of agents in the order of their claims, with every column in that order. Null after the last agent. */
export async function agentPageAfter(
  db: Db,
  after: number,
  limit: number,
): Promise<AgentPage | null> {
  const page = (await selectPage(db, { after, limit }))[0]
  return page === undefined || page.last === null ? null : (page as AgentPage)
}

const selectModified = prepared<{ after: number; last: number }, AgentRow>((db, param) =>
  db
    .selectFrom('agents')
    .selectAll()
    .where('seq', '>', param('after'))
    .where('seq', '<=', param('last'))
    .where(sql<boolean>`not ${UNMODIFIED}`),
)

/** The agents with `after` < `seq` <= `last` that were modified since their claim. */
export function modifiedAgents(db: Db, after: number, last: number): Promise<AgentRow[]> {
  return selectModified(db, { after, last })
}

type Nullable<T> = { [K in keyof T]: T[K] | null }

function concatenated(column: RawBuilder<unknown>): RawBuilder<string> {
  return sql`string_agg(${column}, '')`
}

function spaceSeparated(column: RawBuilder<unknown>): RawBuilder<string> {
  return sql`string_agg(cast(${column} as text), ' ')`
}

function hexOf(db: Db, column: RawBuilder<unknown>): RawBuilder<string> {
  const isSqlite = db.getExecutor().adapter instanceof SqliteAdapter
  return isSqlite ? sql`hex(${column})` : sql`encode(${column}, 'hex')`
}
