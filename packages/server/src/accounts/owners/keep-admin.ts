import { CodedError } from '@countersign/protocol'
import type { Tx } from '../../database/database.ts'
import { adminsOf, organisationsOf } from '../organisations/membership-table.ts'
import { ownerById } from '../owner-table.ts'

/**
 * Call it in the transaction of whatever could leave an organisation without somebody who can manage it, after the change: the
 * removal or the lower role of a member, the removal of a passkey, the deletion of an account, a link to a user in SCIM.
 * @throws CodedError CONFLICT if the organisation has no admin; or an identity provider and no emergency admin, whom neither it
 *   nor the directory can lock out
 */
export async function assertAdminLeft(tx: Tx, orgId: number): Promise<void> {
  const { hasAdmin, hasEmergency, hasSso } = await adminsOf(tx.db, orgId)
  if (hasAdmin && (hasEmergency || !hasSso)) return
  const name = (await ownerById(tx.db, orgId))?.username
  throw new CodedError(
    'CONFLICT',
    hasAdmin
      ? `This would leave the organisation ${name} without an emergency admin: an admin with a passkey who is no user of its directory.`
      : `This would leave the organisation ${name} without an admin. Make another member an admin first, or delete the organisation.`,
  )
}

/** The same for all organisations of which a person is an admin and stays one. */
export async function assertAdminLeftEverywhere(tx: Tx, personId: number): Promise<void> {
  for (const { id, role } of await organisationsOf(tx.db, personId)) {
    if (role === 'admin') await assertAdminLeft(tx, id)
  }
}
