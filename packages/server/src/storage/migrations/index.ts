import { first } from './0001-first.ts'
import type { Migration } from './migration.ts'

/** In order, append-only: what has been released is never edited. */
export const MIGRATIONS: readonly Migration[] = [first]
