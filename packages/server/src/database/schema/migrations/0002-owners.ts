import { usernameSkeleton } from '@countersign/protocol'
import { type Kysely, sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Sign-in methods and sessions of owners, pictures of agents, and skeletons of usernames, so that no two look alike. */
export const owners: Migration = {
  name: '0002-owners',
  async up(db, { bytes, id, text }) {
    await db.schema.alterTable('owners').addColumn('deleted_at', 'bigint').execute()
    await db.schema.alterTable('owners').addColumn('username_skeleton', text).execute()
    await db.schema.alterTable('owners').addColumn('user_handle', text).execute()
    await db.schema.alterTable('agents').addColumn('username_skeleton', text).execute()
    await db.schema.alterTable('agents').addColumn('avatar', text).execute()
    await fillOwnerSkeletons(db)
    await db.schema
      .createIndex('agents_username_skeleton')
      .on('agents')
      .column('username_skeleton')
      .unique()
      .where(sql.ref('username_skeleton'), 'is not', null)
      .execute()
    // Not unique: usernames from before this migration may look alike.
    await db.schema
      .createIndex('owners_username_skeleton')
      .on('owners')
      .column('username_skeleton')
      .execute()

    await db.schema
      .createTable('passkeys')
      .addColumn('credential_id', text, (c) => c.primaryKey())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('public_key', bytes, (c) => c.notNull())
      .addColumn('counter', 'bigint', (c) => c.notNull())
      .addColumn('transports', text, (c) => c.notNull())
      .addColumn('backed_up', 'integer', (c) => c.notNull())
      .addColumn('name', text, (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('last_used_at', 'bigint')
      .execute()
    await db.schema.createIndex('passkeys_owner').on('passkeys').column('owner_id').execute()

    await db.schema
      .createTable('recovery_codes')
      .addColumn('hash', bytes, (c) => c.primaryKey())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .execute()
    await db.schema
      .createIndex('recovery_codes_owner')
      .on('recovery_codes')
      .column('owner_id')
      .execute()

    await db.schema
      .createTable('sign_in_identities')
      .addColumn('provider', text, (c) => c.notNull())
      .addColumn('subject_hash', bytes, (c) => c.notNull())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('sign_in_identities_pk', ['provider', 'subject_hash'])
      .addUniqueConstraint('sign_in_identities_owner', ['owner_id', 'provider'])
      .execute()

    await db.schema
      .createTable('sign_in_links')
      .addColumn('hash', bytes, (c) => c.primaryKey())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute()

    await db.schema
      .createTable('sessions')
      .addColumn('hash', bytes, (c) => c.primaryKey())
      .addColumn('id', text, (c) => c.notNull().unique())
      .addColumn('owner_id', id, (c) => c.notNull().references('owners.id'))
      .addColumn('method', text, (c) => c.notNull())
      .addColumn('browser', text, (c) => c.notNull())
      .addColumn('signed_in_at', 'bigint', (c) => c.notNull())
      .addColumn('last_seen_at', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('sessions_owner').on('sessions').column('owner_id').execute()

    await db.schema
      .createTable('flows')
      .addColumn('hash', bytes, (c) => c.primaryKey())
      .addColumn('kind', text, (c) => c.notNull())
      .addColumn('owner_id', id, (c) => c.references('owners.id'))
      .addColumn('provider', text)
      .addColumn('reference', text)
      .addColumn('state', text, (c) => c.notNull())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute()
    await db.schema
      .createIndex('flows_reference')
      .on('flows')
      .columns(['provider', 'reference'])
      .execute()

    await db.schema
      .createTable('avatars')
      .addColumn('tail', text, (c) => c.primaryKey().references('agents.tail'))
      .addColumn('webp', bytes, (c) => c.notNull())
      .execute()

    // For the history of an agent and of an owner. Claim events, by far the most, are left out of both indexes: an agent's
    // claim event is found by its sequence number, which the agent's row has.
    await db.schema
      .createIndex('events_agent')
      .on('events')
      .column('tail')
      .where(sql.ref('type'), '<>', sql.lit('agent.claimed'))
      .execute()
    await db.schema
      .createIndex('events_owner')
      .on('events')
      .column('owner_id')
      .where(sql.ref('tail'), 'is', null)
      .execute()
  },
}

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its time, not the current one
async function fillOwnerSkeletons(db: Kysely<any>): Promise<void> {
  const rows = await db.selectFrom('owners').select(['id', 'username']).execute()
  for (const { id, username } of rows) {
    await db
      .updateTable('owners')
      .set({ username_skeleton: usernameSkeleton(username) })
      .where('id', '=', id)
      .execute()
  }
}
