import type { Migration } from './migration.ts'

/** Shared counts of the preview `rate-limit`: one row for each limit that is partly used. */
export const rateCounts: Migration = {
  name: '0006-rate-counts',
  async up(db, { bytes }) {
    await db.schema
      .createTable('rate_counts')
      .addColumn('key', bytes, (c) => c.primaryKey())
      .addColumn('whole_at', 'double precision', (c) => c.notNull())
      .addColumn('taken', 'integer', (c) => c.notNull())
      .execute()
    await db.schema
      .createIndex('rate_counts_whole_at')
      .on('rate_counts')
      .column('whole_at')
      .execute()
  },
}
