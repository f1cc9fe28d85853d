import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Notifications of owners, their e-mail addresses and preferences, and the e-mails that are still to be sent. */
export const notifications: Migration = {
  name: '0014-notifications',
  expands: true,
  async up(db, { bytes, id, text }) {
    await db.schema
      .createTable('notifications')
      .addColumn('id', text, (c) => c.primaryKey())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('kind', text, (c) => c.notNull())
      .addColumn('subject', text, (c) => c.notNull())
      .addColumn('details', text, (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('read_at', 'bigint')
      .addUniqueConstraint('notifications_subject', ['owner_id', 'kind', 'subject'])
      .execute()
    await db.schema
      .createIndex('notifications_newest')
      .on('notifications')
      .columns(['owner_id', 'created_at', 'id'])
      .execute()

    await db.schema
      .createTable('email_addresses')
      .addColumn('id', text, (c) => c.primaryKey())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('address', text, (c) => c.notNull())
      .addColumn('added_at', 'bigint', (c) => c.notNull())
      .addColumn('verified_at', 'bigint')
      .addColumn('token_hash', bytes)
      .addColumn('token_expires_at', 'bigint')
      .addUniqueConstraint('email_addresses_owner', ['owner_id', 'address'])
      .execute()

    await db.schema
      .createTable('email_preferences')
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('kind', text, (c) => c.notNull())
      .addColumn('enabled', 'integer', (c) => c.notNull())
      .addPrimaryKeyConstraint('email_preferences_pk', ['owner_id', 'kind'])
      .addCheckConstraint('email_preferences_enabled', sql`enabled in (0, 1)`)
      .execute()

    await db.schema
      .createTable('email_outbox')
      .addColumn('id', text, (c) => c.primaryKey())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('notification_id', text)
      .addColumn('address_id', text, (c) => c.notNull())
      .addColumn('address', text, (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('due_at', 'bigint')
      .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
      .addColumn('holder', text)
      .addColumn('held_until', 'bigint', (c) => c.notNull().defaultTo(0))
      .addColumn('interruptions', 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
    await db.schema.createIndex('email_outbox_due').on('email_outbox').column('due_at').execute()
    await db.schema
      .createIndex('email_outbox_owner')
      .on('email_outbox')
      .column('owner_id')
      .execute()

    // The warnings before something expires are found by these.
    await db.schema
      .createIndex('identity_verifications_expires')
      .on('identity_verifications')
      .column('expires_at')
      .execute()
    await db.schema
      .createIndex('channels_fresh_until')
      .on('channels')
      .column('fresh_until')
      .execute()
  },
}
