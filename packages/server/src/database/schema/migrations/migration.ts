import type { ColumnDataType, Kysely, RawBuilder } from 'kysely'

type ColumnType = ColumnDataType | RawBuilder<unknown>

/** Column types whose names differ between the databases. */
export interface ColumnTypes {
  readonly bytes: ColumnType
  /** Row IDs and sequence numbers. */
  readonly id: ColumnType
  /** Compared and sorted byte by byte, regardless of the machine's locale. */
  readonly text: ColumnType
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
