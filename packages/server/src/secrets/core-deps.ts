import type { Site } from '../base/site.ts'
import type { Database } from '../database/database.ts'
import type { Pepper } from './secrets.ts'

/** Dependencies that most capabilities share. A function declares only the ones that it needs; a capability adds its own. */
export interface CoreDeps {
  readonly db: Database
  readonly site: Site
  readonly serviceName: string
  readonly pepper: Pepper
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}
