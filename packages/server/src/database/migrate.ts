import type { Kysely } from 'kysely'
import { type Db, StorageFailure } from './database.ts'
import { MIGRATIONS } from './schema/migrations/index.ts'
import type { ColumnTypes, Migration } from './schema/migrations/migration.ts'

interface Ledger {
  schema_migrations: { name: string; applied_at: number }
  facts: { name: string; value: string }
}

/**
 * The setting that lists the applied migrations that expand the schema, comma-separated. A release refuses migrations that it does
 * not know in `schema_migrations`, and ignores those here: so the release before can be started again after them.
 */
export const EXPANSIONS_SETTING = 'schema_expansions'
/** The migration that makes the table of settings. */
const SETTINGS_MIGRATION = '0005-facts'

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
  const { pending, expansions } = await readLedger(ledger)
  for (const { name, expands, up } of pending) {
    await up(ledger, types)
    if (expands) expansions.add(name)
    else await ledger.insertInto('schema_migrations').values({ name, applied_at: now }).execute()
  }
  await recordExpansions(ledger, expansions)
  return pending.map(({ name }) => name)
}

async function recordExpansions(
  ledger: Kysely<Ledger>,
  expansions: ReadonlySet<string>,
): Promise<void> {
  const value = [...expansions].join()
  await ledger
    .insertInto('facts')
    .values({ name: EXPANSIONS_SETTING, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
  await ledger
    .deleteFrom('schema_migrations')
    .where('name', 'in', [...expansions])
    .execute()
}

/**
 * Whether no migration is pending. Needs no write transaction, so it does not wait for other writers.
 * @throws NewerSchemaError
 */
export async function isUpToDate(db: Db): Promise<boolean> {
  const contents = await tryReadLedger(db)
  return contents !== null && contents.pending.length === 0 && contents.misplaced.length === 0
}

/**
 * @returns the names of the pending migrations, in order
 * @throws NewerSchemaError
 */
export async function missingMigrations(db: Db): Promise<string[]> {
  const pending = (await tryReadLedger(db))?.pending ?? MIGRATIONS
  return pending.map(({ name }) => name)
}

/** @returns null if the database is empty @throws NewerSchemaError */
async function tryReadLedger(db: Db): Promise<LedgerContents | null> {
  try {
    return await readLedger(db as unknown as Kysely<Ledger>)
  } catch (error) {
    if (error instanceof NewerSchemaError || error instanceof StorageFailure) throw error
    // The table does not exist.
    return null
  }
}

interface LedgerContents {
  readonly pending: readonly Migration[]
  /** Names of applied migrations that expand the schema, also of those that this release does not know. */
  readonly expansions: Set<string>
  /** Those that are recorded like other migrations, as they were before the first release. */
  readonly misplaced: readonly string[]
}

async function readLedger(ledger: Kysely<Ledger>): Promise<LedgerContents> {
  const rows = await ledger.selectFrom('schema_migrations').select('name').execute()
  const recorded = new Set(rows.map(({ name }) => name))
  const unknown = [...recorded].filter((name) => !MIGRATIONS.some((each) => each.name === name))
  if (unknown.length > 0) {
    throw new NewerSchemaError(
      `The database has migrations that this release does not know: ${unknown.join(', ')}.`,
    )
  }
  const misplaced = MIGRATIONS.filter(({ name, expands }) => expands && recorded.has(name)).map(
    ({ name }) => name,
  )
  const listed = recorded.has(SETTINGS_MIGRATION) ? await readExpansions(ledger) : []
  const expansions = new Set([...listed, ...misplaced])
  const pending = MIGRATIONS.filter(({ name }) => !recorded.has(name) && !expansions.has(name))
  return { pending, expansions, misplaced }
}

async function readExpansions(ledger: Kysely<Ledger>): Promise<string[]> {
  const row = await ledger
    .selectFrom('facts')
    .select('value')
    .where('name', '=', EXPANSIONS_SETTING)
    .executeTakeFirst()
  return parseExpansions(row?.value)
}

/** @param value of the setting, or undefined if there is none */
export function parseExpansions(value: string | undefined): string[] {
  return value === undefined || value === '' ? [] : value.split(',')
}
