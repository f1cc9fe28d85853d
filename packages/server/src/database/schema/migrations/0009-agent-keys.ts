import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/**
 * Keys that an agent no longer uses. The current key stays in `agents.public_key`, so that the release before can go on
 * inserting and reading agents. New columns have constant defaults: neither database rewrites a row.
 */
export const agentKeys: Migration = {
  name: '0009-agent-keys',
  expands: true,
  async up(db, { bytes, text }) {
    await db.schema
      .alterTable('agents')
      .addColumn('key_sequence', 'integer', (c) => c.notNull().defaultTo(1))
      .execute()
    await db.schema.alterTable('agents').addColumn('key_changed_at', 'bigint').execute()

    await db.schema
      .createTable('agent_keys')
      .addColumn('tail', text, (c) => c.notNull().references('agents.tail'))
      .addColumn('sequence', 'integer', (c) => c.notNull())
      .addColumn('public_key', bytes, (c) => c.notNull())
      .addColumn('state', text, (c) => c.notNull())
      .addColumn('valid_from', 'bigint', (c) => c.notNull())
      .addColumn('valid_until', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('agent_keys_pk', ['tail', 'sequence'])
      .addCheckConstraint('agent_keys_sequence', sql`sequence >= 1`)
      .addCheckConstraint('agent_keys_state', sql`state in ('retired', 'compromised')`)
      .execute()
    await db.schema
      .createIndex('agent_keys_public_key')
      .on('agent_keys')
      .column('public_key')
      .execute()
  },
}
