import { schema } from './0001-schema.ts'
import type { Migration } from './migration.ts'

/** In order. Released ones are never edited (`released.ts`). */
export const MIGRATIONS: readonly Migration[] = [schema]
