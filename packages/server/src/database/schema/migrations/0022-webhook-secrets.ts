import type { Migration } from './migration.ts'

/** The previous secret of a webhook endpoint, which still signs for a while. The release before signs with the current one only. */
export const webhookSecrets: Migration = {
  name: '0022-webhook-secrets',
  expands: true,
  async up(db, { text }) {
    // SQLite adds one column at a time.
    await db.schema.alterTable('webhook_endpoints').addColumn('previous_salt', text).execute()
    await db.schema.alterTable('webhook_endpoints').addColumn('previous_until', 'bigint').execute()
  },
}
