import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** The public keys that sign certificates and status lists, the state of their rotation, and which nodes hold a new key. */
export const issuerKeys: Migration = {
  name: '0017-issuer-keys',
  expands: true,
  async up(db, { text }) {
    await db.schema
      .createTable('issuer_keys')
      .addColumn('id', text, (c) => c.primaryKey())
      .addColumn('jwks', text, (c) => c.notNull())
      .addColumn('state', text, (c) => c.notNull())
      .addColumn('published_at', 'bigint', (c) => c.notNull())
      .addColumn('activated_at', 'bigint')
      .addColumn('ended_at', 'bigint')
      .addColumn('remove_at', 'bigint')
      .addCheckConstraint(
        'issuer_keys_state',
        sql`state in ('published', 'active', 'retired', 'removed', 'compromised')`,
      )
      .execute()
    await db.schema
      .createIndex('issuer_keys_one_active')
      .on('issuer_keys')
      .column('state')
      .unique()
      .where(sql.ref('state'), '=', sql.lit('active'))
      .execute()

    await db.schema
      .createTable('issuer_key_reports')
      .addColumn('key_id', text, (c) => c.notNull().references('issuer_keys.id'))
      .addColumn('node', text, (c) => c.notNull())
      .addColumn('held_since', 'bigint')
      .addColumn('seen_at', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('issuer_key_reports_pk', ['key_id', 'node'])
      .execute()
  },
}
