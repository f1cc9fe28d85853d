import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Owners, their identity verifications and tokens, agents and their channels, events, jobs. */
export const first: Migration = {
  name: '0001-first',
  async up(db, { bytes, id, text }) {
    await db.schema
      .createTable('owners')
      .addColumn('id', id, (c) => c.primaryKey())
      .addColumn('username', text, (c) => c.notNull().unique())
      .addColumn('display_name', text, (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .execute()

    await db.schema
      .createTable('identity_verifications')
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('provider', text, (c) => c.notNull())
      .addColumn('subject_hash', bytes, (c) => c.notNull())
      .addColumn('pepper_id', text, (c) => c.notNull())
      .addColumn('assurance', text, (c) => c.notNull())
      .addColumn('country', text)
      .addColumn('verified_at', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint')
      .addPrimaryKeyConstraint('identity_verifications_pk', ['owner_id', 'provider'])
      .addUniqueConstraint('identity_verifications_subject', ['provider', 'subject_hash'])
      .execute()

    await db.schema
      .createTable('claim_tokens')
      .addColumn('hash', bytes, (c) => c.primaryKey())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .addColumn('used_at', 'bigint')
      .addColumn('superseded_at', 'bigint')
      .execute()
    // At most one live token for each owner, even if several are issued at once.
    await db.schema
      .createIndex('claim_tokens_live')
      .on('claim_tokens')
      .column('owner_id')
      .unique()
      .where(sql.ref('used_at'), 'is', null)
      .where(sql.ref('superseded_at'), 'is', null)
      .execute()

    await db.schema
      .createTable('agents')
      .addColumn('seq', id, (c) => c.primaryKey())
      .addColumn('tail', text, (c) => c.notNull().unique())
      .addColumn('public_key', bytes, (c) => c.notNull())
      .addColumn('agent_id', text, (c) => c.notNull())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('status', text, (c) => c.notNull())
      .addColumn('status_reason', text)
      .addColumn('status_set_by', text, (c) => c.notNull())
      .addColumn('pair_slot', 'bigint', (c) => c.notNull())
      .addColumn('claimed_at', 'bigint', (c) => c.notNull())
      .addColumn('status_changed_at', 'bigint', (c) => c.notNull())
      .addColumn('updated_at', 'bigint', (c) => c.notNull())
      .addColumn('version', 'bigint', (c) => c.notNull())
      .addColumn('username', text)
      .addColumn('display_name', text)
      .addColumn('description', text)
      .addUniqueConstraint('agents_pair', ['public_key', 'agent_id', 'pair_slot'])
      .execute()
    // Partial: most agents have no username, and the index stays small.
    await db.schema
      .createIndex('agents_username')
      .on('agents')
      .column('username')
      .unique()
      .where(sql.ref('username'), 'is not', null)
      .execute()
    await db.schema.createIndex('agents_owner').on('agents').column('owner_id').execute()

    await db.schema
      .createTable('channels')
      .addColumn('id', text, (c) => c.primaryKey())
      .addColumn('tail', text, (c) => c.notNull().references('agents.tail'))
      .addColumn('kind', text, (c) => c.notNull())
      .addColumn('handle_or_domain', text, (c) => c.notNull())
      .addColumn('tier', 'integer', (c) => c.notNull())
      .addColumn('verified_at', 'bigint', (c) => c.notNull())
      .addColumn('checked_at', 'bigint', (c) => c.notNull())
      .addColumn('fresh_until', 'bigint')
      .execute()
    await db.schema.createIndex('channels_agent').on('channels').column('tail').execute()

    await db.schema
      .createTable('events')
      .addColumn('seq', id, (c) => c.primaryKey())
      .addColumn('at', 'bigint', (c) => c.notNull())
      .addColumn('type', text, (c) => c.notNull())
      .addColumn('tail', text)
      .addColumn('owner_id', id)
      .addColumn('facts', text, (c) => c.notNull())
      .execute()

    await db.schema
      .createTable('jobs')
      .addColumn('id', text, (c) => c.primaryKey())
      .addColumn('kind', text, (c) => c.notNull())
      .addColumn('subject', text, (c) => c.notNull())
      .addColumn('run_at', 'bigint', (c) => c.notNull())
      .addColumn('attempts', 'integer', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('jobs_due').on('jobs').column('run_at').execute()
  },
}
