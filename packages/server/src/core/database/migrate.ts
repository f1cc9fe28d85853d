import type { Kysely } from 'kysely'
import { type Db, StorageFailure } from './database.ts'
import { MIGRATIONS } from './migrations/index.ts'
import type { ColumnTypes, Migration } from './migrations/migration.ts'

interface Ledger {
  schema_migrations: { name: string; applied_at: number }
}

/** A newer release has migrated the database. Writing with this one could damage it. */
export class NewerSchemaError extends Error {
  override readonly name = 'NewerSchemaError'
}

/**
 * Applies the pending migrations, inside the caller's transaction.
 * @param now milliseconds since the Unix epoch
 * @returns the names of the migrations that it applied
 * @throws NewerSchemaError if the database has migrations that this release does not know
 */
export async function migrate(db: Db, types: ColumnTypes, now: number): Promise<string[]> {
  const ledger = db as unknown as Kysely<Ledger>
  await ledger.schema
    .createTable('schema_migrations')
    .ifNotExists()
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('applied_at', 'bigint', (c) => c.notNull())
    .execute()
  const pending = await pendingMigrations(ledger)
  for (const migration of pending) {
    await migration.up(ledger, types)
    await ledger
      .insertInto('schema_migrations')
      .values({ name: migration.name, applied_at: now })
      .execute()
  }
  return pending.map(({ name }) => name)
}

/**
 * Whether no migration is pending. Needs no write transaction, so it does not wait for other writers.
 * @throws NewerSchemaError
 */
export async function isUpToDate(db: Db): Promise<boolean> {
  return (await missingMigrations(db)).length === 0
}

/**
 * @returns the names of the pending migrations, in order
 * @throws NewerSchemaError
 */
export async function missingMigrations(db: Db): Promise<string[]> {
  try {
    return (await pendingMigrations(db as unknown as Kysely<Ledger>)).map(({ name }) => name)
  } catch (error) {
    if (error instanceof NewerSchemaError || error instanceof StorageFailure) throw error
    // The table does not exist: the database is empty.
    return MIGRATIONS.map(({ name }) => name)
  }
}

async function pendingMigrations(ledger: Kysely<Ledger>): Promise<Migration[]> {
  const rows = await ledger.selectFrom('schema_migrations').select('name').execute()
  const applied = new Set(rows.map(({ name }) => name))
  const unknown = [...applied].filter((name) => !MIGRATIONS.some((each) => each.name === name))
  if (unknown.length > 0) {
    throw new NewerSchemaError(
      `The database has migrations that this release does not know: ${unknown.join(', ')}.`,
    )
  }
  return MIGRATIONS.filter(({ name }) => !applied.has(name))
}
