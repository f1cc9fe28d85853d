import { type RawBuilder, SqliteAdapter, sql } from 'kysely'
import type { AgentRow, Db } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'

/** A page of agents, with a string for each column. Reading row objects with buffers takes five times as long. */
export interface AgentPage {
  /** `seq` of the last agent. */
  readonly last: number
  /** Agents that were modified since their claim; the strings have the others. */
  readonly modified: number
  /** Concatenated, 24 characters each. */
  readonly tails: string
  /** Hexadecimal, concatenated, 64 digits each. */
  readonly publicKeys: string
  /** Decimal, separated by commas: `seq`, `owner_id`, `version` and `claimed_at` of the first agent, of the next and so on. */
  readonly numbers: string
}

/** But perhaps for its grade and its channels. */
const UNMODIFIED = sql<boolean>`(status = 'active' and key_sequence = 1 and updated_at = claimed_at
  and status_changed_at = claimed_at
  and status_reason is null and username is null and display_name is null and description is null
  and avatar is null and directory_proof is null and status_time = 'exact'
  and delegation_depth = 0 and owner_changed_at is null)`

const selectPage = prepared<{ after: number; limit: number }, Nullable<AgentPage>>((db, param) =>
  db
    .selectFrom(
      db
        .selectFrom('agents')
        .select(['seq', 'tail', 'public_key', 'owner_id', 'version', 'claimed_at'])
        // Here, so that it is evaluated once for each agent.
        .select(UNMODIFIED.as('is_unmodified'))
        .where('seq', '>', param('after'))
        .orderBy('seq')
        .limit(param('limit'))
        .as('page'),
    )
    .select((eb) => [
      eb.fn.max('seq').as('last'),
      sql<number>`count(*) filter (where not is_unmodified)`.as('modified'),
      unmodified(sql`tail`, '').as('tails'),
      unmodified(hexOf(db, sql`public_key`), '').as('publicKeys'),
      unmodified(sql`concat(seq, ',', owner_id, ',', version, ',', claimed_at)`, ',').as('numbers'),
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

function unmodified(column: RawBuilder<unknown>, separator: string): RawBuilder<string> {
  return sql`coalesce(string_agg(${column}, ${sql.lit(separator)}) filter (where is_unmodified), '')`
}

function hexOf(db: Db, column: RawBuilder<unknown>): RawBuilder<string> {
  const isSqlite = db.getExecutor().adapter instanceof SqliteAdapter
  return isSqlite ? sql`hex(${column})` : sql`encode(${column}, 'hex')`
}
