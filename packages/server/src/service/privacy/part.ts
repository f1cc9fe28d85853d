import type { OwnersPart } from '../../accounts/owners/owner-routes.ts'
import { EXPIRE_UNUSED_ACCOUNT } from '../../accounts/owners/unused-account.ts'
import type { OwnerDeps } from '../../accounts/providers/providers.ts'
import { expireUnusedAccount } from './delete-account.ts'
import { deletionRoute, exportRoute } from './privacy-routes.ts'

/** Export and deletion of accounts. */
export function openPrivacy(deps: OwnerDeps): OwnersPart {
  return {
    ownerRoutes(app, owners) {
      exportRoute(app, { ...owners, deps })
      deletionRoute(app, { ...owners, deps })
    },
    jobs: { [EXPIRE_UNUSED_ACCOUNT]: expireUnusedAccount },
  }
}
