import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Webhook endpoints and their deliveries. New tables, which the release before ignores. */
export const webhooks: Migration = {
  name: '0020-webhooks',
  expands: true,
  async up(db, { id, text }) {
    await db.schema
      .createTable('webhook_endpoints')
      .addColumn('id', text, (c) => c.primaryKey())
      .addColumn('owner_id', id, (c) => c.references('owners.id'))
      .addColumn('url', text, (c) => c.notNull())
      .addColumn('types', text)
      .addColumn('state', text, (c) => c.notNull())
      .addColumn('disabled_reason', text)
      .addColumn('secret_salt', text, (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('after_seq', id, (c) => c.notNull())
      .addColumn('due_at', 'bigint', (c) => c.notNull().defaultTo(0))
      .addColumn('failures', 'integer', (c) => c.notNull().defaultTo(0))
      .addColumn('failing_since', 'bigint')
      .addColumn('delivered_at', 'bigint')
      .addColumn('holder', text)
      .addColumn('held_until', 'bigint', (c) => c.notNull().defaultTo(0))
      .addCheckConstraint('webhook_endpoints_state', sql`state in ('active', 'paused', 'disabled')`)
      .execute()
    await db.schema
      .createIndex('webhook_endpoints_owner')
      .on('webhook_endpoints')
      .column('owner_id')
      .execute()

    await db.schema
      .createTable('webhook_deliveries')
      .addColumn('id', text, (c) => c.primaryKey())
      .addColumn('endpoint_id', text, (c) => c.notNull().references('webhook_endpoints.id'))
      .addColumn('seq', id)
      .addColumn('type', text, (c) => c.notNull())
      .addColumn('tail', text)
      .addColumn('at', 'bigint', (c) => c.notNull())
      .addColumn('state', text, (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
      .addColumn('attempted_at', 'bigint')
      .addColumn('status', 'integer')
      .addColumn('problem', text)
      .addColumn('duration_ms', 'integer')
      .addCheckConstraint(
        'webhook_deliveries_state',
        sql`state in ('pending', 'delivered', 'failed')`,
      )
      .execute()
    // The queue of an endpoint, and all queues.
    await db.schema
      .createIndex('webhook_deliveries_queue')
      .on('webhook_deliveries')
      .columns(['state', 'endpoint_id', 'seq'])
      .execute()
    // The log of an endpoint.
    await db.schema
      .createIndex('webhook_deliveries_log')
      .on('webhook_deliveries')
      .columns(['endpoint_id', 'created_at', 'id'])
      .execute()
    await db.schema
      .createIndex('webhook_deliveries_created')
      .on('webhook_deliveries')
      .column('created_at')
      .execute()
  },
}
