import type { Migration } from './migration.ts'

/** What all nodes have to agree on, noted by the first. */
export const facts: Migration = {
  name: '0005-facts',
  async up(db, { text }) {
    await db.schema
      .createTable('facts')
      .addColumn('name', text, (c) => c.primaryKey())
      .addColumn('value', text, (c) => c.notNull())
      .execute()
  },
}
