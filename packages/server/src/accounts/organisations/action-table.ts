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

/** An action with the display name of the member; null once their account is erased. */
type NamedAction = MemberActionRow & { readonly display_name: string | null }

/** The actions of an organisation before a position, newest first, of the last 400 days. */
export function actionsBefore(
  db: Db,
  orgId: number,
  before: number,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<NamedAction[]> {
  return db
    .selectFrom('member_actions as action')
    .innerJoin('memberships as membership', 'membership.id', 'action.membership')
    .leftJoin('owners as person', 'person.id', 'membership.person_id')
    .selectAll('action')
    .select('person.display_name')
    .where('action.org_id', '=', orgId)
    .where('action.id', '<', before)
    .where('action.at', '>=', now - RETENTION_MS)
    .orderBy('action.id', 'desc')
    .limit(limit)
    .execute()
}
