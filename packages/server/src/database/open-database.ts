import { dirname } from 'node:path'
import type { Database, Effects } from './database.ts'
import { MIGRATIONS } from './schema/migrations/index.ts'
import { migrateFile, openSqlite } from './sqlite/sqlite-database.ts'
import type { WriterTurn } from './sqlite/writer-turn.ts'

/** Where the database is. */
export type DatabaseLocation =
  | { readonly kind: 'sqlite'; readonly file: string }
  /** The URL may contain a password. Never print it. */
  | { readonly kind: 'postgres'; readonly url: string }

/**
 * Opens the database and applies pending migrations.
 * @param now milliseconds since the Unix epoch
 * @param effects what follows from a change; pass `EFFECTS` of `service/effects.ts`
 * @param turn coordinates the writes of processes that share a SQLite file. PostgreSQL needs none: a lock on the server
 *   does it
 * @throws NewerSchemaError, UnreleasedSchemaError, StorageFailure
 */
export async function openDatabase(
  place: DatabaseLocation,
  now: () => number,
  effects: Effects,
  turn?: WriterTurn,
): Promise<Database> {
  if (place.kind === 'sqlite') return openSqlite(place.file, now, effects, turn)
  // Loaded on demand, with its driver.
  const { openPostgres } = await import('./postgres/postgres-database.ts')
  return openPostgres(place.url, now, effects)
}

/**
 * The directory whose free disk space matters.
 * @param dataDir the service's data directory, which a service on PostgreSQL also has
 */
export function directoryOf(place: DatabaseLocation, dataDir: string): string {
  return place.kind === 'sqlite' ? dirname(place.file) : dataDir
}

/** Applies pending migrations. @returns the names of those that it applied */
export async function migrateDatabase(
  place: DatabaseLocation,
  now: () => number,
  migrations = MIGRATIONS,
): Promise<string[]> {
  if (place.kind === 'sqlite') return migrateFile(place.file, now, migrations)
  const { migratePostgres } = await import('./postgres/postgres-database.ts')
  return migratePostgres(place.url, now, migrations)
}
