import type { Migration } from './migration.ts'

/**
 * When an owner's name changed, verified names that owners publish, usernames in quarantine, and the passkey that started
 * a session. New columns are nullable, so that the release before can go on inserting rows.
 */
export const ownerNames: Migration = {
  name: '0011-owner-names',
  expands: true,
  async up(db, { bytes, id, text }) {
    await db.schema.alterTable('owners').addColumn('name_changed_at', 'bigint').execute()
    await db.schema.alterTable('identity_verifications').addColumn('published_name', text).execute()
    await db.schema.alterTable('sessions').addColumn('passkey_id', text).execute()

    await db.schema
      .createTable('released_usernames')
      .addColumn('hash', bytes, (c) => c.primaryKey())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('available_at', 'bigint', (c) => c.notNull())
      .execute()
    await db.schema
      .createIndex('released_usernames_available')
      .on('released_usernames')
      .column('available_at')
      .execute()
  },
}
