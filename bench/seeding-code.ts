import { globSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { migrateFile } from '../packages/server/src/database/sqlite/sqlite-database.ts'
import type { Seeder } from './seed-rows.ts'

/** What a checkout seeds a database with: its own schema, and its own rows in it. */
export interface SeedingCode {
  readonly migrateFile: typeof migrateFile
  readonly Seeder: typeof Seeder
}

/** Where checkouts have had it. */
const MIGRATE_FILE = 'packages/server/src/**/sqlite/sqlite-database.ts'
const MIGRATIONS = 'packages/server/src/**/migrations/*.ts'
const SEEDER = 'bench/seed-rows.ts'

/** Loads the code of a checkout, which has its dependencies installed. */
export async function seedingCodeOf(root: string): Promise<SeedingCode> {
  const [file = ''] = filesOf(root, MIGRATE_FILE)
  return {
    ...(await import(pathToFileURL(file).href)),
    ...(await import(pathToFileURL(join(root, SEEDER)).href)),
  }
}

/** The files that determine what a checkout seeds. */
export function seedingFilesOf(root: string): string[] {
  return [...filesOf(root, MIGRATIONS), join(root, SEEDER)]
}

function filesOf(root: string, pattern: string): string[] {
  return globSync(join(root, pattern)).toSorted()
}
