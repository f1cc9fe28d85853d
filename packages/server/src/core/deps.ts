import type { Registry } from '../agents/read-model/agent-read-model.ts'
import type { Outside } from '../channels/channel-sources.ts'
import type { Providers } from '../providers/providers.ts'
import type { Pepper } from './crypto/secrets.ts'
import type { Database } from './database/database.ts'
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
