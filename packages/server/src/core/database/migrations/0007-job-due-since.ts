import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Since when a job that has failed has been due: its `run_at` is put off each time. */
export const jobDueSince: Migration = {
  name: '0007-job-due-since',
  async up(db) {
    await db.schema.alterTable('jobs').addColumn('due_since', 'bigint').execute()
    // Partial, since hardly any job fails.
    await db.schema
      .createIndex('jobs_due_since')
      .on('jobs')
      .column('due_since')
      .where(sql.ref('due_since'), 'is not', null)
      .execute()
  },
}
