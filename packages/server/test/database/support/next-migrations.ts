import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSettings } from '../../../src/base/config.ts'
import { migrateDatabase } from '../../../src/database/open-database.ts'
import { MIGRATIONS } from '../../../src/database/schema/migrations/index.ts'
import { executeScript, type Migration } from '../../../src/database/schema/migrations/migration.ts'

/** What a next release may add. */
export const EXPANDING: Migration = {
  name: '9999-add-later',
  expands: true,
  up: (db, { text }) =>
    executeScript(
      db,
      `
alter table agents add column later ${text};
create table later (name ${text} primary key);
`,
    ),
}

/** What the release before cannot ignore. */
export const CONTRACTING: Migration = {
  name: '9999-drop-avatars',
  up: (db) => executeScript(db, 'drop table avatars;\n'),
}

/** Fails after its first statement. */
export const FAILING: Migration = {
  name: '9999-fail',
  expands: true,
  up: (db, { text }) =>
    executeScript(
      db,
      `
create table half (name ${text} primary key);
create table half (name ${text} primary key);
`,
    ),
}

/** Migrates a database as a next release with one migration more. @returns the names of the migrations that it applied */
export function migrateAsNext(env: Readonly<Record<string, string>>, next: Migration) {
  return migrateDatabase(readSettings(env).database, Date.now, [...MIGRATIONS, next])
}

/** The names of the released migrations that are missing in `directory`, or that were edited after the release. */
export function editedMigrations(
  released: Readonly<Record<string, string>>,
  directory: string,
): string[] {
  return Object.entries(released)
    .filter(([name, digest]) => digestOf(name, directory) !== digest)
    .map(([name]) => name)
}

/** As `RELEASED` says. */
export function digestOf(name: string, directory: string): string {
  const number = name.slice(0, 5)
  const files = readdirSync(directory).filter((file) => file.startsWith(number))
  const text = files.toSorted().map((file) => readFileSync(join(directory, file)))
  return hash('sha256', Buffer.concat(text))
}
