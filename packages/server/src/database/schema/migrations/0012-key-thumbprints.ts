import type { Migration } from './migration.ts'

/**
 * The thumbprint of each agent's current key, so that a key is found by it, and the proof that an agent signed over its
 * key set. Neither database has SHA-256 for JWKs: `agents/keys/key-thumbprints.ts` fills in what is null, such as agents that
 * the release before inserts.
 */
export const keyThumbprints: Migration = {
  name: '0012-key-thumbprints',
  expands: true,
  async up(db, { bytes, text }) {
    await db.schema.alterTable('agents').addColumn('key_thumbprint', bytes).execute()
    await db.schema.alterTable('agents').addColumn('directory_proof', text).execute()
    await db.schema
      .createIndex('agents_key_thumbprint')
      .on('agents')
      .column('key_thumbprint')
      .execute()
  },
}
