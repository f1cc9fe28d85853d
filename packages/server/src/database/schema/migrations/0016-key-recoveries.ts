import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/**
 * How each key became current, pending recoveries, and the provider that started a session. New columns are nullable, so
 * that the release before can go on inserting rows.
 */
export const keyRecoveries: Migration = {
  name: '0016-key-recoveries',
  expands: true,
  async up(db, { bytes, text }) {
    await db.schema.alterTable('agents').addColumn('key_changed_by', text).execute()
    await db.schema.alterTable('agent_keys').addColumn('changed_by', text).execute()
    await db.schema.alterTable('sessions').addColumn('provider', text).execute()

    await db.schema
      .createTable('key_recoveries')
      .addColumn('tail', text, (c) => c.primaryKey().references('agents.tail'))
      .addColumn('reason', text, (c) => c.notNull())
      .addColumn('started_at', 'bigint', (c) => c.notNull())
      .addColumn('token_hash', bytes, (c) => c.notNull())
      .addColumn('token_expires_at', 'bigint', (c) => c.notNull())
      .addColumn('token_used_at', 'bigint')
      .addColumn('new_key', bytes)
      .addColumn('redeemed_at', 'bigint')
      .addColumn('effective_at', 'bigint')
      .addCheckConstraint('key_recoveries_reason', sql`reason in ('key_lost', 'key_compromised')`)
      .execute()
    await db.schema
      .createIndex('key_recoveries_new_key')
      .on('key_recoveries')
      .column('new_key')
      .execute()
  },
}
