import { dirname } from 'node:path'
import type { Database } from './database.ts'
import { migratePostgres, openPostgres } from './postgres/postgres-database.ts'
import { migrateFile, openSqlite } from './sqlite/sqlite-database.ts'
import type { WriterTurn } from './sqlite/writer-turn.ts'

/** Where the data are. */
export type DatabasePlace =
  | { readonly kind: 'sqlite'; readonly file: string }
  /** The URL may hold a password: it is never printed. */
  | { readonly kind: 'postgres'; readonly url: string }

/**
 * Opens the data, and brings the schema up to date.
 * @param turn where processes share a file; in PostgreSQL the server itself sees to it that one at a time writes
 * @throws NewerSchemaError, StorageFailure
 */
export function openDatabase(
  place: DatabasePlace,
  now: () => number,
  turn?: WriterTurn,
): Promise<Database> {
  return place.kind === 'sqlite' ? openSqlite(place.file, now, turn) : openPostgres(place.url, now)
}

/** The directory whose disk must not run full. @param dataDir what a service has on this machine beside a PostgreSQL */
export function directoryOf(place: DatabasePlace, dataDir: string): string {
  return place.kind === 'sqlite' ? dirname(place.file) : dataDir
}

/** @returns the names of the migrations that were applied now */
export function migrateDatabase(place: DatabasePlace, now: () => number): Promise<string[]> {
  return place.kind === 'sqlite' ? migrateFile(place.file, now) : migratePostgres(place.url, now)
}
