import type { Migration } from './migration.ts'

/** The number of each node's last commit, so that it can find out whether a commit went through if the connection is lost. */
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
