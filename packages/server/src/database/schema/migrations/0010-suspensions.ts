import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/**
 * Suspensions of keys and of owners. A suspension of a key is stored apart from the agents, because it outlives the
 * revocation of an agent by its owner. The release before ignores the table and the columns.
 */
export const suspensions: Migration = {
  name: '0010-suspensions',
  expands: true,
  async up(db, { bytes, text }) {
    await db.schema
      .createTable('suspended_keys')
      .addColumn('public_key', bytes, (c) => c.primaryKey())
      .addColumn('reason', text)
      .addColumn('suspended_at', 'bigint', (c) => c.notNull())
      .execute()
    // What the operator suspended before applied to an agent. From now on, it also keeps its key from being claimed.
    await sql`insert into suspended_keys (public_key, reason, suspended_at)
      select public_key, min(status_reason), min(status_changed_at) from agents
      where status = 'suspended' and status_set_by = 'operator' group by public_key`.execute(db)
    await db.schema.alterTable('owners').addColumn('suspended_at', 'bigint').execute()
    await db.schema.alterTable('owners').addColumn('suspension_reason', text).execute()
  },
}
