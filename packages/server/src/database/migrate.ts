import { type Kysely, SqliteAdapter } from 'kysely'
import { type Db, StorageFailure } from './database.ts'
import { MIGRATIONS } from './schema/migrations/index.ts'
import type { ColumnTypes, Migration } from './schema/migrations/migration.ts'

interface Ledger {
  schema_migrations: { name: string; applied_at: number }
  settings: { name: string; value: string }
}

/**
 * The setting that lists the applied migrations that expand the schema, comma-separated. A release refuses migrations that it does
 * not know in `schema_migrations`, and ignores those here: so the release before can be started again after them.
 */
export const EXPANSIONS_SETTING = 'schema_expansions'

/** A newer release has migrated the database. Writing with this one could damage it. */
export class NewerSchemaError extends Error {
  override readonly name = 'NewerSchemaError'
}

/** The database has the schema of a build before the first release, which no migration upgrades. */
export class UnreleasedSchemaError extends Error {
  override readonly name = 'UnreleasedSchemaError'
}

/**
 * Applies the pending migrations, inside the caller's transaction.
 * @param now milliseconds since the Unix epoch
 * @param migrations those that the program knows, in order
 * @returns the names of the migrations that it applied
 * @throws NewerSchemaError if the database has migrations that the program does not know
 * @throws UnreleasedSchemaError
 */
export async function migrate(
  db: Db,
  types: ColumnTypes,
  now: number,
  migrations = MIGRATIONS,
): Promise<string[]> {
  const ledger = db as unknown as Kysely<Ledger>
  await ledger.schema
    .createTable('schema_migrations')
    .ifNotExists()
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('applied_at', 'bigint', (c) => c.notNull())
    .execute()
  const { pending, expansions } = await readLedger(ledger, migrations)
  for (const { name, expands, up } of pending) {
    await up(ledger, types)
    if (expands) expansions.push(name)
    else await ledger.insertInto('schema_migrations').values({ name, applied_at: now }).execute()
  }
  await recordExpansions(ledger, expansions)
  return pending.map(({ name }) => name)
}

async function recordExpansions(ledger: Kysely<Ledger>, expansions: string[]): Promise<void> {
  const value = expansions.join()
  await ledger
    .insertInto('settings')
    .values({ name: EXPANSIONS_SETTING, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

/**
 * Whether no migration is pending. Needs no write transaction, so it does not wait for other writers.
 * @throws NewerSchemaError, UnreleasedSchemaError
 */
export async function isUpToDate(db: Db, migrations = MIGRATIONS): Promise<boolean> {
  return (await missingMigrations(db, migrations)).length === 0
}

/**
 * @returns the names of the pending migrations, in order
 * @throws NewerSchemaError, UnreleasedSchemaError
 */
export async function missingMigrations(db: Db, migrations = MIGRATIONS): Promise<string[]> {
  const ledger = await tryReadLedger(db, migrations)
  return (ledger?.pending ?? migrations).map(({ name }) => name)
}

/** @returns null if the database is empty @throws NewerSchemaError, UnreleasedSchemaError */
async function tryReadLedger(
  db: Db,
  migrations: readonly Migration[],
): Promise<LedgerContents | null> {
  try {
    return await readLedger(db as unknown as Kysely<Ledger>, migrations)
  } catch (error) {
    if (error instanceof NewerSchemaError || error instanceof UnreleasedSchemaError) throw error
    if (error instanceof StorageFailure) throw error
    // The table does not exist.
    return null
  }
}

interface LedgerContents {
  readonly pending: readonly Migration[]
  /** Names of applied migrations that expand the schema, also of those that the program does not know. */
  readonly expansions: string[]
}

async function readLedger(
  ledger: Kysely<Ledger>,
  migrations: readonly Migration[],
): Promise<LedgerContents> {
  const rows = await ledger.selectFrom('schema_migrations').select('name').execute()
  const recorded = rows.map(({ name }) => name)
  const unknown = unknownMigrations(recorded, migrations)
  if (unknown.some(isUnreleased)) {
    const isFile = ledger.getExecutor().adapter instanceof SqliteAdapter
    throw new UnreleasedSchemaError(
      `The database was made by a build before the first release; start with an empty ${isFile ? 'DATA_DIR' : 'database'}.`,
    )
  }
  if (unknown.length > 0) {
    throw new NewerSchemaError(
      `The database has migrations that this release does not know: ${unknown.join(', ')}.`,
    )
  }
  const expansions = recorded.length === 0 ? [] : await readExpansions(ledger)
  const applied = new Set([...recorded, ...expansions])
  return { pending: migrations.filter(({ name }) => !applied.has(name)), expansions }
}

/** Of the names in `schema_migrations`, those that the program does not know. */
export function unknownMigrations(
  recorded: readonly string[],
  migrations: readonly Migration[] = MIGRATIONS,
): string[] {
  return recorded.filter((name) => !migrations.some((each) => each.name === name))
}

/** Whether an unknown migration was applied by a build before the first release: each release has the same first migration. */
export function isUnreleased(unknown: string): boolean {
  return unknown.startsWith('0001-')
}

async function readExpansions(ledger: Kysely<Ledger>): Promise<string[]> {
  const row = await ledger
    .selectFrom('settings')
    .select('value')
    .where('name', '=', EXPANSIONS_SETTING)
    .executeTakeFirst()
  return parseExpansions(row?.value)
}

/** @param value of the setting, or undefined if there is none */
export function parseExpansions(value: string | undefined): string[] {
  return value === undefined || value === '' ? [] : value.split(',')
}
