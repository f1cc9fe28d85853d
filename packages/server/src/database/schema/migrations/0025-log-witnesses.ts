import type { Migration } from './migration.ts'

/**
 * The witnesses of the transparency log: what each has answered, and the newest checkpoint while it waits for their cosignatures.
 * The release before publishes checkpoints without them.
 */
export const logWitnesses: Migration = {
  name: '0025-log-witnesses',
  expands: true,
  async up(db, { bytes, id, text }) {
    await db.schema
      .createTable('log_pending')
      .addColumn('epoch', id, (c) => c.primaryKey().references('log_epochs.epoch'))
      .addColumn('size', 'bigint', (c) => c.notNull())
      .addColumn('root', bytes, (c) => c.notNull())
      .addColumn('checkpoint', text, (c) => c.notNull())
      .addColumn('signed_at', 'bigint', (c) => c.notNull())
      .execute()
    await db.schema
      .createTable('log_witnesses')
      .addColumn('epoch', id, (c) => c.notNull().references('log_epochs.epoch'))
      .addColumn('witness', text, (c) => c.notNull())
      .addColumn('size', 'bigint', (c) => c.notNull())
      .addColumn('cosignature', text)
      .addColumn('answered_at', 'bigint', (c) => c.notNull())
      .addColumn('not_before', 'bigint', (c) => c.notNull())
      .addColumn('failures', 'integer', (c) => c.notNull())
      .addColumn('failure', text)
      .addColumn('problem', text)
      .addPrimaryKeyConstraint('log_witnesses_pk', ['epoch', 'witness'])
      .execute()
  },
}
