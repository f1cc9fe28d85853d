import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Indexes for deletions and reads in write transactions, which would otherwise scan whole tables and block other writers. */
export const pruning: Migration = {
  name: '0008-pruning',
  async up(db) {
    await db.schema.createIndex('flows_expires').on('flows').column('expires_at').execute()
    // Partial: most flows have no owner yet.
    await db.schema
      .createIndex('flows_owner')
      .on('flows')
      .column('owner_id')
      .where(sql.ref('owner_id'), 'is not', null)
      .execute()
    await db.schema.createIndex('sessions_expires').on('sessions').column('expires_at').execute()
    await db.schema.createIndex('sessions_seen').on('sessions').column('last_seen_at').execute()
    await db.schema
      .createIndex('claim_tokens_owner')
      .on('claim_tokens')
      .column('owner_id')
      .execute()
  },
}
