import type { Migration } from './migration.ts'

/** API keys of owners. A new table, which the release before ignores. */
export const apiKeys: Migration = {
  name: '0013-api-keys',
  expands: true,
  async up(db, { bytes, id, text }) {
    await db.schema
      .createTable('api_keys')
      .addColumn('hash', bytes, (c) => c.primaryKey())
      .addColumn('id', text, (c) => c.notNull().unique())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('name', text, (c) => c.notNull())
      .addColumn('scopes', text, (c) => c.notNull())
      .addColumn('last_four', text, (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .addColumn('last_used_at', 'bigint')
      .execute()
    await db.schema.createIndex('api_keys_owner').on('api_keys').column('owner_id').execute()
  },
}
