import { type Kysely, sql } from 'kysely'
import type { ColumnTypes, Migration } from './migration.ts'

/** Channels with their proofs and checks, and the last published grade of each agent. */
export const channels: Migration = {
  name: '0003-channels',
  async up(db, types) {
    // No earlier release writes channels, so the table is empty.
    await db.schema.dropTable('channels').execute()
    await createChannels(db, types)
    await createChecks(db, types)
    await db.schema
      .alterTable('agents')
      .addColumn('grade', types.text, (c) => c.notNull().defaultTo('E'))
      .execute()
    await gradeAgents(db)
  },
}

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its time, not the current one
async function createChannels(db: Kysely<any>, { text }: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('channels')
    .addColumn('id', text, (c) => c.primaryKey())
    .addColumn('tail', text, (c) => c.notNull().references('agents.tail'))
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('handle_or_domain', text, (c) => c.notNull())
    .addColumn('tier', 'integer', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('proof_token', text)
    .addColumn('proof_expires_at', 'bigint')
    .addColumn('proven_token', text)
    .addColumn('proven_by', text)
    .addColumn('verified_at', 'bigint')
    .addColumn('checked_at', 'bigint')
    .addColumn('fresh_until', 'bigint')
    .addColumn('stale_since', 'bigint')
    .addColumn('failures', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('failing_since', 'bigint')
    .addColumn('failed_at', 'bigint')
    .addUniqueConstraint('channels_place', ['tail', 'kind', 'handle_or_domain'])
    .execute()
  await db.schema
    .createIndex('channels_handle')
    .on('channels')
    .columns(['kind', 'handle_or_domain'])
    .execute()
}

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its time, not the current one
async function createChecks(db: Kysely<any>, { text }: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('channel_checks')
    .addColumn('channel_id', text, (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('outcome', text, (c) => c.notNull())
    .addColumn('perspectives', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('channel_checks_pk', ['channel_id', 'at'])
    .execute()
  // When each channel is checked next. Nodes lease a channel for the time of a check.
  await db.schema
    .createTable('channel_leases')
    .addColumn('channel_id', text, (c) => c.primaryKey())
    .addColumn('due_at', 'bigint')
    .addColumn('holder', text)
    .addColumn('held_until', 'bigint', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema.createIndex('channel_leases_due').on('channel_leases').column('due_at').execute()
}

/** Sets each agent's current grade, without channels, so that only later changes raise events. */
// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its time, not the current one
async function gradeAgents(db: Kysely<any>): Promise<void> {
  const now = Date.now()
  const current = sql`select assurance from identity_verifications v where v.owner_id = agents.owner_id
    and (v.expires_at is null or v.expires_at > ${now})`
  await sql`update agents set grade = case
    when exists (${current} and v.assurance in ('substantial', 'high')) then 'C'
    when exists (${current}) then 'D'
    else 'E' end
    where status = 'active'`.execute(db)
}
