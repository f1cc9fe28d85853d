import type { Database } from './database.ts'
import { migratePostgres, openPostgres } from './postgres-database.ts'
import { migrateFile, openSqlite } from './sqlite-database.ts'

/** Where the data are. */
export type DatabasePlace =
  | { readonly kind: 'sqlite'; readonly file: string }
  /** The URL may hold a password: it is never printed. */
  | { readonly kind: 'postgres'; readonly url: string }

/**
 * Opens the data, and brings the schema up to date.
 * @throws NewerSchemaError, StorageFailure
 */
export function openDatabase(place: DatabasePlace, now: () => number): Promise<Database> {
  return place.kind === 'sqlite' ? openSqlite(place.file, now) : openPostgres(place.url, now)
}

/** @returns the names of the migrations that were applied now */
export function migrateDatabase(place: DatabasePlace, now: () => number): Promise<string[]> {
  return place.kind === 'sqlite' ? migrateFile(place.file, now) : migratePostgres(place.url, now)
}
