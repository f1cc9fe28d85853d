import { CodedError } from '@countersign/protocol'
import type { Db } from '../database/database.ts'
import { ownerById } from './owner-table.ts'

/**
 * Call it before everything that a suspended owner may not do. They may sign in, read, export, suspend, revoke, and remove
 * what agents show. They may not remove their verifications or account: the same person could verify a new account.
 * @throws CodedError FORBIDDEN if the operator has suspended the owner
 */
export async function assertOwnerNotSuspended(db: Db, ownerId: number): Promise<void> {
  const owner = await ownerById(db, ownerId)
  if (owner === undefined || owner.suspended_at === null) return
  const reason = owner.suspension_reason
  throw new CodedError(
    'FORBIDDEN',
    `The operator suspended this account${reason === null ? '' : ` (${reason})`}. Until they lift the suspension, you cannot issue claim tokens, reactivate agents, change names, profiles or channels, answer reports, remove verifications or delete the account.`,
  )
}
