import type { OwnerRow } from '../core/database/database.ts'

/** What every way in ends with. */
export interface SignedInOwner {
  readonly owner: Pick<OwnerRow, 'username' | 'display_name'>
  /** For the session cookie: see `startSession`. */
  readonly token: string
}
