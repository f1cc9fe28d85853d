import type { Migration } from './migration.ts'

/** The witness of other logs: its keys, and the newest checkpoint of each log that it has cosigned. The release before witnesses none. */
export const witness: Migration = {
  name: '0024-witness',
  expands: true,
  async up(db, { bytes, id, text }) {
    await db.schema
      .createTable('witness_keys')
      .addColumn('number', id, (c) => c.primaryKey())
      .addColumn('name', text, (c) => c.notNull())
      .addColumn('public_key', bytes, (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('halted_at', 'bigint')
      .execute()
    await db.schema
      .createTable('witnessed_logs')
      .addColumn('origin', text, (c) => c.primaryKey())
      .addColumn('size', 'bigint', (c) => c.notNull())
      .addColumn('root', bytes, (c) => c.notNull())
      .addColumn('checkpoint', text)
      .addColumn('cosigned_at', 'bigint', (c) => c.notNull())
      .execute()
  },
}
