import type { Pepper } from '../adapters/secrets.ts'
import type { Database } from '../storage/database.ts'
import type { Outside } from './channels/outside.ts'
import type { Providers } from './identity-providers.ts'
import type { Registry } from './read-model/registry.ts'
import type { Site } from './site.ts'

/** What the jobs of the owners' side work on. Each takes what it needs of it. */
export interface OwnerDeps {
  readonly db: Database
  readonly registry: Registry
  readonly site: Site
  readonly serviceName: string
  readonly pepper: Pepper
  readonly providers: Providers
  readonly outside: Outside
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}
