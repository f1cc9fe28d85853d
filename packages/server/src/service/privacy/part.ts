import type { OwnersPart } from '../../accounts/owners/owner-routes.ts'
import { EXPIRE_UNUSED_ACCOUNT } from '../../accounts/owners/unused-account.ts'
import type { OwnerDeps } from '../../accounts/providers/providers.ts'
import type { ReadDeps } from '../../agents/find-agent.ts'
import type { EventRow } from '../../database/database.ts'
import { type PartDeps, WORK_MS } from '../../http/part.ts'
import { FORGET_OWNER, forgetOwner, recentDeletions, removeDeleted } from './after-erasure.ts'
import {
  EXPIRE_MANAGED_ACCOUNT,
  expireManagedAccount,
  expireUnusedAccount,
} from './delete-account.ts'
import { Erasures } from './erasures.ts'
import { deletionRoute, exportRoute } from './privacy-routes.ts'

/** Export and deletion of accounts. */
export async function openPrivacy(deps: PartDeps & OwnerDeps & ReadDeps): Promise<OwnersPart> {
  const erasures = new Erasures(deps.settings.dataDir)
  await recordDeletions(deps, erasures)
  return {
    ownerRoutes(app, owners) {
      exportRoute(app, { ...owners, deps })
      deletionRoute(app, { ...owners, deps: { ...deps, erasures } })
    },
    jobs: {
      [EXPIRE_UNUSED_ACCOUNT]: expireUnusedAccount,
      [EXPIRE_MANAGED_ACCOUNT]: expireManagedAccount,
      [FORGET_OWNER]: forgetOwner,
    },
    timers: [
      {
        everyMs: WORK_MS,
        run: async () => void (await removeDeleted(deps.db)),
        failure: 'what deleted rows have left was not removed',
      },
    ],
  }
}

/** Every node that runs records the deletions of all, so that the list is still there if the node that erased is lost. */
async function recordDeletions(
  { readModel, db, log }: PartDeps & ReadDeps,
  erasures: Erasures,
): Promise<void> {
  const record = (events: readonly EventRow[]) => {
    for (const { type, owner_id, at } of events) {
      if (type !== 'owner.deleted' || owner_id === null) continue
      try {
        erasures.record(owner_id, at)
      } catch (err) {
        // The caller follows the events, which must go on.
        log.error({ err }, 'an erasure was not recorded')
      }
    }
  }
  readModel.onApplied(record)
  record(await recentDeletions(db.read))
}
