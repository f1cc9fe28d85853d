import type { ColumnDataType, Kysely, RawBuilder } from 'kysely'

type ColumnType = ColumnDataType | RawBuilder<unknown>

/** The column types that each database spells in its own way. */
export interface ColumnTypes {
  readonly bytes: ColumnType
  /** Numbers of rows and of events. */
  readonly id: ColumnType
  /** Compared and sorted byte for byte, whatever the language of the machine is. */
  readonly text: ColumnType
}

export interface Migration {
  readonly name: string
  // biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its own day, not today's
  up(db: Kysely<any>, types: ColumnTypes): Promise<void>
}
