import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** When a failed job was first due: each retry moves its `run_at`. */
export const jobDueSince: Migration = {
  name: '0007-job-due-since',
  async up(db) {
    await db.schema.alterTable('jobs').addColumn('due_since', 'bigint').execute()
    // Partial: few jobs fail.
    await db.schema
      .createIndex('jobs_due_since')
      .on('jobs')
      .column('due_since')
      .where(sql.ref('due_since'), 'is not', null)
      .execute()
  },
}
