import { type Kysely, sql } from 'kysely'

/** Column types whose names differ between the databases, as SQL text. */
export interface ColumnTypes {
  readonly bytes: string
  /** Row IDs and sequence numbers. */
  readonly id: string
  /** Compared and sorted byte by byte, regardless of the machine's locale. */
  readonly text: string
}

export interface Migration {
  readonly name: string
  /**
   * Whether the release before can work on the migrated database: it only adds tables, indexes, and columns that are
   * nullable or have a default. Otherwise that release refuses to start on it.
   */
  readonly expands?: true
  // biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its time, not the current one
  up(db: Kysely<any>, types: ColumnTypes): Promise<void>
}

/** Runs statements that each end with a semicolon at the end of a line. */
// biome-ignore lint/suspicious/noExplicitAny: see `Migration.up`
export async function executeScript(db: Kysely<any>, script: string): Promise<void> {
  for (const statement of script.split(/;\n/)) {
    if (statement.trim() !== '') await sql.raw(statement).execute(db)
  }
}
