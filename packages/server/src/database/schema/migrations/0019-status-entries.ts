import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/**
 * Status lists, and their entries, to which certificates refer. Entries get a row with the first certificate that refers to
 * them, so a claim writes none.
 */
export const statusEntries: Migration = {
  name: '0019-status-entries',
  expands: true,
  async up(db, { id, text }) {
    await db.schema
      .createTable('status_lists')
      .addColumn('list', 'integer', (c) => c.primaryKey())
      .addColumn('allocated', 'integer', (c) => c.notNull().defaultTo(0))
      .addColumn('is_closed', 'integer', (c) => c.notNull().defaultTo(0))
      .addCheckConstraint('status_lists_closed', sql`is_closed in (0, 1)`)
      .execute()

    await db.schema
      .createTable('status_entries')
      .addColumn('list', 'integer', (c) => c.notNull().references('status_lists.list'))
      .addColumn('idx', 'integer', (c) => c.notNull())
      .addColumn('tail', text, (c) => c.notNull().references('agents.tail'))
      .addColumn('key_sequence', 'integer', (c) => c.notNull())
      .addColumn('grade', text, (c) => c.notNull())
      .addColumn('identity_method', text)
      .addColumn('assurance', text)
      .addColumn('value', 'integer', (c) => c.notNull())
      .addColumn('is_current', 'integer', (c) => c.notNull())
      .addColumn('changed_seq', id, (c) => c.notNull())
      .addColumn('allocated_at', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('status_entries_pk', ['list', 'idx'])
      .addCheckConstraint('status_entries_value', sql`value in (0, 1, 2)`)
      .addCheckConstraint('status_entries_current', sql`is_current in (0, 1)`)
      .execute()
    // An agent has one entry at most to which new certificates refer.
    await db.schema
      .createIndex('status_entries_current')
      .unique()
      .on('status_entries')
      .column('tail')
      .where(sql.ref('is_current'), '=', sql.lit(1))
      .execute()
    // Partial: loading the lists at a start reads only these.
    await db.schema
      .createIndex('status_entries_restricted')
      .on('status_entries')
      .columns(['list', 'idx', 'value'])
      .where(sql.ref('value'), '<>', sql.lit(0))
      .execute()
    await db.schema
      .createIndex('events_status')
      .on('events')
      .column('seq')
      .where(sql.ref('type'), '=', sql.lit('status.changed'))
      .execute()
  },
}
