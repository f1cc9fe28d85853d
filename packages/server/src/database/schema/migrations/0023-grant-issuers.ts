import type { Migration } from './migration.ts'

/** Grant issuers of owners, the agents assigned to them, and nonces of signed requests. New tables, which the release before ignores. */
export const grantIssuers: Migration = {
  name: '0023-grant-issuers',
  expands: true,
  async up(db, { id, text }) {
    await db.schema
      .createTable('grant_issuers')
      .addColumn('id', text, (c) => c.primaryKey())
      .addColumn('owner_id', id, (c) => c.references('owners.id'))
      .addColumn('name', text, (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('deleted_at', 'bigint')
      .execute()
    await db.schema
      .createIndex('grant_issuers_owner')
      .on('grant_issuers')
      .column('owner_id')
      .execute()

    await db.schema
      .createTable('grant_assignments')
      .addColumn('tail', text, (c) => c.primaryKey())
      .addColumn('issuer_id', text, (c) => c.notNull().references('grant_issuers.id'))
      .addColumn('assigned_at', 'bigint', (c) => c.notNull())
      .execute()
    await db.schema
      .createIndex('grant_assignments_issuer')
      .on('grant_assignments')
      .column('issuer_id')
      .execute()

    await db.schema
      .createTable('grant_uses')
      .addColumn('tail', text, (c) => c.notNull())
      .addColumn('audience', text, (c) => c.notNull())
      .addColumn('first_at', 'bigint', (c) => c.notNull())
      .addColumn('last_at', 'bigint', (c) => c.notNull())
      .addColumn('grants', 'integer', (c) => c.notNull())
      .addPrimaryKeyConstraint('grant_uses_pk', ['tail', 'audience'])
      .execute()

    await db.schema
      .createTable('used_nonces')
      .addColumn('hash', text, (c) => c.primaryKey())
      .addColumn('keyid', text, (c) => c.notNull())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('used_nonces_key').on('used_nonces').column('keyid').execute()
    await db.schema
      .createIndex('used_nonces_expiry')
      .on('used_nonces')
      .column('expires_at')
      .execute()
  },
}
