import type { Migration } from './migration.ts'

/** Sign-ins of owners and changes of their sign-in methods, for their activity. The release before records none. */
export const accountActivity: Migration = {
  name: '0018-account-activity',
  expands: true,
  async up(db, { id, text }) {
    await db.schema
      .createTable('account_activity')
      .addColumn('id', 'bigint', (c) => c.primaryKey())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('after_seq', 'bigint', (c) => c.notNull())
      .addColumn('at', 'bigint', (c) => c.notNull())
      .addColumn('type', text, (c) => c.notNull())
      .addColumn('details', text, (c) => c.notNull())
      .execute()
    await db.schema
      .createIndex('account_activity_newest')
      .on('account_activity')
      .columns(['owner_id', 'after_seq', 'id'])
      .execute()
    await db.schema
      .createIndex('account_activity_oldest')
      .on('account_activity')
      .column('at')
      .execute()
  },
}
