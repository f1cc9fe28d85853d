import type { Migration } from './migration.ts'

/** What each node has committed last, so that it can find out where its connection was lost in a commit. */
export const commitMarks: Migration = {
  name: '0004-commit-marks',
  async up(db, { text }) {
    await db.schema
      .createTable('commit_marks')
      .addColumn('node', text, (c) => c.primaryKey())
      .addColumn('mark', 'bigint', (c) => c.notNull())
      .addColumn('at', 'bigint', (c) => c.notNull())
      .execute()
  },
}
