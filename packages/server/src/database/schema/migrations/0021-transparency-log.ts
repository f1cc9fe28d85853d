import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/**
 * The transparency log: changes that wait for their place in it, its epochs, entries and tiles, and how many entries each owner
 * has caused today. The release before ignores all of it; what it changes meanwhile, `log/backfill.ts` adds.
 */
export const transparencyLog: Migration = {
  name: '0021-transparency-log',
  expands: true,
  async up(db, { bytes, id, text }) {
    await db.schema
      .createTable('log_queue')
      .addColumn('seq', id, (c) => c.primaryKey())
      .addColumn('tail', text, (c) => c.notNull())
      .addColumn('owner_id', id)
      .addColumn('type', text, (c) => c.notNull())
      .addColumn('entry', text, (c) => c.notNull())
      .addColumn('evidence', text)
      .addColumn('not_before', 'bigint', (c) => c.notNull())
      .execute()
    // Partial: almost all changes are due at once, and are found by their numbers.
    await db.schema
      .createIndex('log_queue_later')
      .on('log_queue')
      .columns(['not_before', 'seq'])
      .where(sql.ref('not_before'), '>', sql.lit(0))
      .execute()
    // Claims, by far the most, are not held back and need no index by agent.
    await db.schema
      .createIndex('log_queue_waiting')
      .on('log_queue')
      .column('tail')
      .where(sql.ref('type'), '<>', sql.lit('claimed'))
      .execute()

    await db.schema
      .createTable('log_epochs')
      .addColumn('epoch', id, (c) => c.primaryKey())
      .addColumn('origin', text, (c) => c.notNull().unique())
      .addColumn('public_key', bytes, (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('size', 'bigint', (c) => c.notNull())
      .addColumn('root', bytes, (c) => c.notNull())
      .addColumn('published_size', 'bigint', (c) => c.notNull())
      .addColumn('published_root', bytes)
      .addColumn('checkpoint', text)
      .addColumn('published_at', 'bigint')
      .addColumn('backfilled_seq', 'bigint', (c) => c.notNull())
      .addColumn('complete_index', 'bigint')
      .addColumn('complete_at', 'bigint')
      .execute()

    await db.schema
      .createTable('log_entries')
      .addColumn('epoch', id, (c) => c.notNull().references('log_epochs.epoch'))
      .addColumn('position', 'bigint', (c) => c.notNull())
      .addColumn('tail', text)
      .addColumn('entry', text, (c) => c.notNull())
      .addColumn('salt', bytes)
      .addColumn('evidence', text)
      .addPrimaryKeyConstraint('log_entries_pk', ['epoch', 'position'])
      .execute()
    await db.schema
      .createIndex('log_entries_agent')
      .on('log_entries')
      .columns(['tail', 'epoch', 'position'])
      .execute()

    await db.schema
      .createTable('log_tiles')
      .addColumn('epoch', id, (c) => c.notNull().references('log_epochs.epoch'))
      .addColumn('level', 'integer', (c) => c.notNull())
      .addColumn('position', 'bigint', (c) => c.notNull())
      .addColumn('hashes', bytes, (c) => c.notNull())
      .addPrimaryKeyConstraint('log_tiles_pk', ['epoch', 'level', 'position'])
      .execute()

    await db.schema
      .createTable('log_quotas')
      .addColumn('owner_id', id, (c) => c.primaryKey())
      .addColumn('day', 'bigint', (c) => c.notNull())
      .addColumn('entries', 'bigint', (c) => c.notNull())
      .execute()
  },
}
