import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/**
 * Several live claim tokens for an owner, an index for the events of all of an owner's agents, and the first steps of an
 * owner. The release before issues tokens at position 0, one at a time, as the default does.
 */
export const batchesAndActivity: Migration = {
  name: '0015-batches-and-activity',
  expands: true,
  async up(db) {
    await db.schema
      .alterTable('claim_tokens')
      .addColumn('position', 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
    await db.schema.dropIndex('claim_tokens_live').execute()
    // At most one live token for each position, even if several batches are issued at once.
    await db.schema
      .createIndex('claim_tokens_live_batch')
      .on('claim_tokens')
      .columns(['owner_id', 'position'])
      .unique()
      .where(sql.ref('used_at'), 'is', null)
      .where(sql.ref('superseded_at'), 'is', null)
      .execute()
    // Claim events, by far the most, are left out: they are found through the agents.
    await db.schema
      .createIndex('events_owner_agents')
      .on('events')
      .columns(['owner_id', 'seq'])
      .where(sql.ref('tail'), 'is not', null)
      .where(sql.ref('type'), '<>', sql.lit('agent.claimed'))
      .execute()
    await db.schema.alterTable('owners').addColumn('badge_copied_at', 'bigint').execute()
    await db.schema.alterTable('owners').addColumn('onboarding_hidden_at', 'bigint').execute()
  },
}
