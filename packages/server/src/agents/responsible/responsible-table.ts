import type { AgentRow, Db, Tx } from '../../database/database.ts'

/** `agents.responsible` of an organisation's agent that has nobody. */
export const NOBODY = ''

/** Stores who is responsible for an agent. It is not public, so that no event tells of it. */
export async function setResponsible(tx: Tx, tail: string, responsible: string): Promise<void> {
  await tx.db.updateTable('agents').set({ responsible }).where('tail', '=', tail).execute()
}

/** Agents of an organisation that have lost their responsible person together. */
export interface LostAgents {
  readonly orgId: number
  /** The membership that ended, or `NOBODY`. */
  readonly responsible: string
  /** The only agent; null: all that the membership has left behind. */
  readonly tail: string | null
}

/** How many of them are not revoked. @param status only those with this status */
export async function countLost(
  db: Db,
  lost: LostAgents,
  status: AgentRow['status'] | null = null,
): Promise<number> {
  const query = lostAgents(db, lost).select((eb) => eb.fn.countAll().as('count'))
  const some =
    status === null ? query.where('status', '<>', 'revoked') : query.where('status', '=', status)
  return Number((await some.executeTakeFirstOrThrow()).count)
}

/** The tails of those that are active. */
export async function activeLost(db: Db, lost: LostAgents, limit: number): Promise<string[]> {
  const rows = await lostAgents(db, lost)
    .select('tail')
    .where('status', '=', 'active')
    .limit(limit)
    .execute()
  return rows.map(({ tail }) => tail)
}

function lostAgents(db: Db, { orgId, responsible, tail }: LostAgents) {
  const query = db.selectFrom('agents').where('responsible', '=', responsible)
  // A membership belongs to one organisation, and the index alone answers without its column.
  return tail === null ? query : query.where('tail', '=', tail).where('owner_id', '=', orgId)
}

/** The number of organisations' agents that are not revoked and have no responsible person. */
export async function countWithoutResponsible(db: Db): Promise<number> {
  const nobody = await db
    .selectFrom('agents')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('responsible', '=', NOBODY)
    .where('status', '<>', 'revoked')
    .executeTakeFirstOrThrow()
  const left = await db
    .selectFrom('memberships')
    .innerJoin('agents', 'agents.responsible', 'memberships.id')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('memberships.ended_at', 'is not', null)
    .where('agents.status', '<>', 'revoked')
    .executeTakeFirstOrThrow()
  return Number(nobody.count) + Number(left.count)
}
