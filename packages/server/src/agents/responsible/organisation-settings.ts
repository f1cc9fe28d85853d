import type { OrganisationSettings } from '@countersign/protocol'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { planAgain } from './missing-responsible.ts'
import { setSuspendAfterDays, suspendAfterDays } from './organisation-settings-table.ts'

/** The settings of an organisation. */
export async function readSettings(
  { db }: Pick<CoreDeps, 'db'>,
  orgId: number,
): Promise<OrganisationSettings> {
  return { suspendWithoutResponsibleAfterDays: await suspendAfterDays(db.read, orgId) }
}

/** Changes the settings of an organisation. They also apply to agents that have no responsible person already. */
export async function changeSettings(
  { db, now }: Pick<CoreDeps, 'db' | 'now'>,
  orgId: number,
  settings: OrganisationSettings,
): Promise<OrganisationSettings> {
  await db.write(async (tx) => {
    await setSuspendAfterDays(tx, orgId, settings.suspendWithoutResponsibleAfterDays)
    await planAgain(tx, orgId, now())
  })
  return settings
}
