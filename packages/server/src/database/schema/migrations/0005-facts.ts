import type { Migration } from './migration.ts'

/** Settings that all nodes must agree on, stored by the first. `settings-table.ts` reads and writes them. */
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
