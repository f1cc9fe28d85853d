import type { CoreDeps } from '../../secrets/core-deps.ts'
import type { Providers } from '../providers/providers.ts'

/** Dependencies of accounts. Owners can also sign in with an identity provider. */
export interface OwnerDeps extends CoreDeps {
  readonly providers: Providers
}
