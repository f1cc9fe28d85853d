import type { AgentStatus } from '@countersign/protocol'
import { type RawBuilder, sql } from 'kysely'
import type { AgentRow, Db, Tx } from '../core/database/database.ts'
import { ignoreUniqueViolation } from '../core/database/ignore-unique-violation.ts'
import { prepared } from '../core/database/prepared.ts'

export interface OwnAgentFilter {
  readonly ownerId: number
  /** Claimed before the agent with this number. */
  readonly before: number
  readonly status: AgentStatus | null
  /** Only rows that may contain this: the caller looks again, in a way that knows all letters. */
  readonly containing: string | null
}

/** Agents of an owner, newest first. */
export function ownAgents(db: Db, wanted: OwnAgentFilter, limit: number): Promise<AgentRow[]> {
  let query = db
    .selectFrom('agents')
    .selectAll()
    .where('owner_id', '=', wanted.ownerId)
    .where('seq', '<', wanted.before)
  if (wanted.status !== null) query = query.where('status', '=', wanted.status)
  if (wanted.containing !== null) query = query.where(mayContain(wanted.containing))
  return query.orderBy('seq', 'desc').limit(limit).execute()
}

/** In the database the case of ASCII alone is known: whatever else the text has stands for anything here. */
function mayContain(text: string): RawBuilder<boolean> {
  const escaped = text.replaceAll(/[\\%_]/g, '\\$&').replaceAll(/[^ -~]+/g, '%')
  const pattern = `%${escaped.toLowerCase()}%`
  const columns = [
    sql.ref('display_name'),
    sql.ref('username'),
    sql.ref('description'),
    sql.ref('agent_id'),
    // Agents without a name are called so in answers.
    sql`'Agent ' || ${sql.ref('tail')}`,
  ]
  const each = columns.map((column) => sql`lower(${column}) like ${pattern} escape '\\'`)
  return sql`(${sql.join(each, sql` or `)})`
}

/** How many agents of an owner have each status. */
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

/** What owners give their agents. */
export type ProfileColumns = Pick<
  AgentRow,
  'username' | 'username_skeleton' | 'display_name' | 'description' | 'avatar'
>

/** @returns false where the username, or one that looks like it, is taken, and nothing changed */
export async function updateProfileColumns(
  tx: Tx,
  tail: string,
  face: Partial<ProfileColumns>,
  { at, version }: { readonly at: number; readonly version: number },
): Promise<boolean> {
  return ignoreUniqueViolation(tx, ['agents_username', 'agents_username_skeleton'], () =>
    tx.db
      .updateTable('agents')
      .set({ ...face, updated_at: at, version })
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

/** The agents of an owner that have a name, a text or a picture, oldest first. */
export function agentsWithProfile(db: Db, ownerId: number, limit: number): Promise<AgentRow[]> {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where((eb) =>
      eb.or([
        eb('username', 'is not', null),
        eb('display_name', 'is not', null),
        eb('description', 'is not', null),
        eb('avatar', 'is not', null),
      ]),
    )
    .orderBy('seq')
    .limit(limit)
    .execute()
}
