import type { AgentRow, Db, OwnerRow, Tx } from '../../database/database.ts'

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
