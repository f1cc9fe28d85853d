import type { Db } from './database.ts'

/** Data that are looked at, by whatever schema they have. */
export interface Inspection {
  /** For reading. */
  readonly db: Db
  /** @throws Error that says what is wrong, where a service could not work on them */
  check(): Promise<void>
}
