import { sql } from 'kysely'
import type { Db, Tx } from '../../database/database.ts'
import type { MemberActionRow } from '../../database/schema/organisation-rows.ts'

/** As long as the activities of an account. */
const RETENTION_MS = 400 * 86_400_000

/** Records that a member's request changed something, once for each request, and deletes old ones of all organisations. */
export async function insertAction(tx: Tx, action: Omit<MemberActionRow, 'id'>): Promise<void> {
  await tx.db
    .deleteFrom('member_actions')
    .where('at', '<', action.at - RETENTION_MS)
    .execute()
  await tx.db
    .insertInto('member_actions')
    .values({
      // Write transactions run one after another.
      id: sql<number>`(select coalesce(max(id), 0) + 1 from member_actions)`,
      ...action,
    })
    .onConflict((conflict) => conflict.columns(['request', 'membership']).doNothing())
    .execute()
}

/** The actions of an organisation before a position, newest first. */
export function actionsBefore(
  db: Db,
  orgId: number,
  before: number,
  limit: number,
): Promise<MemberActionRow[]> {
  return db
    .selectFrom('member_actions')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('id', '<', before)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}
