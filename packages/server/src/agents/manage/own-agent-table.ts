import type { AgentOrder, AgentStatus } from '@countersign/protocol'
import { type RawBuilder, sql } from 'kysely'
import type { AgentRow, Db, OwnerRow, Tx } from '../../database/database.ts'
import { ignoreUniqueViolation } from '../../database/ignore-unique-violation.ts'
import { prepared } from '../../database/prepared.ts'

export interface OwnAgentFilter {
  readonly ownerId: number
  /** The `seq` of the last agent of the page before; null: start with the first. */
  readonly after: number | null
  readonly order: AgentOrder
  readonly status: AgentStatus | null
  /** `none`: without a live membership of a responsible person. Or the id of one. */
  readonly responsible: string | null
  /** Only agents that workloads have enrolled, or none of them; null: all. */
  readonly enrolled: 'only' | 'exclude' | null
  /** Only rows that may contain this text. The caller filters again, case-insensitively beyond ASCII. */
  readonly containing: string | null
}

/** What agents are ordered by; among equals, the newest comes first. */
const SORT_KEYS = {
  name: {
    key: sql<string>`lower(coalesce(display_name, username, 'Agent ' || substr(tail, 1, 6)))`,
    direction: 'asc',
    follows: sql.raw('>'),
  },
  // Revoked agents have the weakest grade, and nothing raises it: they come last.
  grade: {
    key: sql<string>`case when status = 'revoked' then '-' else grade end`,
    direction: 'desc',
    follows: sql.raw('<'),
  },
} as const

/** The agents of an owner that match a filter. */
export function ownAgents(db: Db, filter: OwnAgentFilter, limit: number): Promise<AgentRow[]> {
  const { ownerId, after, order, status, containing, responsible, enrolled } = filter
  let query = db.selectFrom('agents').selectAll().where('owner_id', '=', ownerId)
  if (status !== null) query = query.where('status', '=', status)
  if (responsible === 'none') query = query.where(HAS_NOBODY)
  else if (responsible !== null) query = query.where('responsible', '=', responsible)
  if (enrolled === 'only') query = query.where(IS_ENROLLED)
  if (enrolled === 'exclude') query = query.where(sql<boolean>`not ${IS_ENROLLED}`)
  if (containing !== null) query = query.where(mayContain(containing))
  if (order === 'newest') {
    if (after !== null) query = query.where('seq', '<', after)
  } else {
    const { key, direction, follows } = SORT_KEYS[order]
    if (after !== null) {
      const last = sql`(select ${key} from agents where seq = ${after} and owner_id = ${ownerId})`
      query = query.where(
        sql<boolean>`(${key} ${follows} ${last} or (${key} = ${last} and seq < ${after}))`,
      )
    }
    query = query.orderBy(key, direction)
  }
  return query.orderBy('seq', 'desc').limit(limit).execute()
}

const HAS_NOBODY = sql<boolean>`not exists (select 1 from memberships
  where memberships.id = agents.responsible and memberships.ended_at is null)`

const IS_ENROLLED = sql<boolean>`exists (select 1 from enrolments where enrolments.tail = agents.tail)`

/** Matches case-insensitively in ASCII only, so runs of other characters become wildcards. */
function mayContain(text: string): RawBuilder<boolean> {
  const escaped = text.replaceAll(/[\\%_]/g, '\\$&').replaceAll(/[^ -~]+/g, '%')
  const pattern = `%${escaped.toLowerCase()}%`
  const columns = [
    sql.ref('display_name'),
    sql.ref('username'),
    sql.ref('description'),
    sql.ref('agent_id'),
    // The display name in responses for agents without one.
    sql`'Agent ' || ${sql.ref('tail')}`,
  ]
  const each = columns.map((column) => sql`lower(${column}) like ${pattern} escape '\\'`)
  return sql`(${sql.join(each, sql` or `)})`
}

/** The number of an owner's agents in each status. */
export async function countByStatus(db: Db, ownerId: number): Promise<Record<AgentStatus, number>> {
  const rows = await db
    .selectFrom('agents')
    .select((eb) => ['status', eb.fn.countAll().as('count')])
    .where('owner_id', '=', ownerId)
    .groupBy('status')
    .execute()
  const counts = { active: 0, suspended: 0, revoked: 0 }
  for (const { status, count } of rows) counts[status] = Number(count)
  return counts
}

/** The columns of an agent's profile. */
export type ProfileColumns = Pick<
  AgentRow,
  'username' | 'username_skeleton' | 'display_name' | 'description' | 'avatar'
>

/** @returns false if the username or a lookalike is taken; then nothing changed */
export async function updateProfileColumns(
  tx: Tx,
  tail: string,
  profile: Partial<ProfileColumns>,
  { at, version }: { readonly at: number; readonly version: number },
): Promise<boolean> {
  return ignoreUniqueViolation(tx, ['agents_username', 'agents_username_skeleton'], () =>
    tx.db
      .updateTable('agents')
      .set({ ...profile, updated_at: at, version })
      .where('tail', '=', tail)
      .execute(),
  )
}

const selectUnrevoked = prepared<{ ownerId: number; limit: number }, AgentRow>((db, param) =>
  db
    .selectFrom('agents')
    .selectAll()
    .where('owner_id', '=', param('ownerId'))
    .where('status', '!=', 'revoked')
    .orderBy('seq')
    .limit(param('limit')),
)

/** The agents of an owner that are not revoked, oldest first. */
export function unrevokedAgents(db: Db, ownerId: number, limit: number): Promise<AgentRow[]> {
  return selectUnrevoked(db, { ownerId, limit })
}

/** Agents of an owner, oldest first. */
export function oldestAgents(db: Db, ownerId: number, limit: number): Promise<AgentRow[]> {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .orderBy('seq')
    .limit(limit)
    .execute()
}

/** Replaces the label and the owner of agents, and deletes their last signature over their key set and what they may do besides. */
export async function anonymizeAgents(
  tx: Tx,
  tails: readonly string[],
  anonymous: Pick<AgentRow, 'agent_id' | 'owner_id'>,
): Promise<void> {
  await tx.db
    .updateTable('agents')
    .set({
      ...anonymous,
      directory_proof: null,
      delegation_depth: 0,
      responsible: null,
      approvals: 0,
    })
    .where('tail', 'in', tails)
    .execute()
}

/** The newest agents of an owner. */
export function newestOwnAgents(
  db: Db,
  ownerId: number,
  limit: number,
): Promise<Pick<AgentRow, 'tail' | 'status' | 'display_name'>[]> {
  return db
    .selectFrom('agents')
    .select(['tail', 'status', 'display_name'])
    .where('owner_id', '=', ownerId)
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()
}

/** Whether one of these agents has a channel that is verified. */
export async function hasVerifiedChannel(db: Db, tails: readonly string[]): Promise<boolean> {
  // PostgreSQL rejects `in ()`.
  if (tails.length === 0) return false
  const row = await db
    .selectFrom('channels')
    .select('id')
    .where('tail', 'in', tails)
    .where('verified_at', 'is not', null)
    .where('stale_since', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export async function updateOnboarding(
  tx: Tx,
  ownerId: number,
  columns: Partial<Pick<OwnerRow, 'badge_copied_at' | 'onboarding_hidden_at'>>,
): Promise<void> {
  await tx.db.updateTable('owners').set(columns).where('id', '=', ownerId).execute()
}

/** How many agents of an owner that are not revoked each responsible membership has. */
export async function countByResponsible(
  db: Db,
  ownerId: number,
): Promise<{ readonly responsible: string; readonly count: number }[]> {
  const rows = await db
    .selectFrom('agents')
    .select('responsible')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('owner_id', '=', ownerId)
    .where('responsible', 'is not', null)
    .where('status', '<>', 'revoked')
    .groupBy('responsible')
    .execute()
  return rows.map(({ responsible, count }) => ({
    responsible: responsible as string,
    count: Number(count),
  }))
}
