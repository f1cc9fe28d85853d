import { CodedError, type EndedAccess, includesRole } from '@countersign/protocol'
import type { Tx } from '../../database/database.ts'
import type { MembershipRow } from '../../database/schema/organisation-rows.ts'
import { assertAdminLeft } from '../owners/keep-admin.ts'
import { endAccess, NOTHING } from './end-membership.ts'
import { updateRole } from './membership-table.ts'
import { notifyOfMember } from './notify-of-member.ts'

/**
 * Gives a member another role, and ends what a lower one no longer allows.
 * @param member as it is in this transaction
 * @param source `sso` if the identity provider of the organisation says so, and may say otherwise at the next sign-in
 * @param at milliseconds since the Unix epoch
 * @returns what ended
 * @throws CodedError CONFLICT if the organisation would have no admin any more (`assertAdminLeft`)
 */
export async function setRole(
  tx: Tx,
  member: Pick<MembershipRow, 'id' | 'role' | 'role_since'>,
  { role, source }: Pick<MembershipRow, 'role' | 'source'>,
  at: number,
): Promise<EndedAccess> {
  const isLower = includesRole(member.role, role)
  const role_since = isLower ? member.role_since : at
  const changed = await updateRole(tx, member.id, { role, role_since, source })
  if (changed === undefined) throw noSuchMember()
  if (role === member.role) return NOTHING
  if (member.role === 'admin') await assertAdminLeft(tx, changed.org_id)
  await notifyOfMember(tx, changed, { change: 'role', role, formerRole: member.role }, at)
  return isLower ? endAccess(tx, { membership: changed, role }, at) : NOTHING
}

export function noSuchMember(): CodedError {
  return new CodedError('NOT_FOUND', 'Your organisation has no such member.')
}
