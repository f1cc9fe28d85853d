import type { Kysely, RawBuilder } from 'kysely'

/** The column types that each database spells in its own way. */
export interface ColumnTypes {
  readonly bytes: 'blob' | RawBuilder<unknown>
}

export interface Migration {
  readonly name: string
  // biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its own day, not today's
  up(db: Kysely<any>, types: ColumnTypes): Promise<void>
}
