import { CodedError } from '@countersign/protocol'
import type { OwnerRow, Tx } from '../../storage/database.ts'
import { liveAgents } from '../../storage/owner-agents.ts'
import { ownerById } from '../../storage/owners.ts'
import { writeStatus } from '../change-status.ts'
import type { OwnerDeps } from '../owner-deps.ts'

/**
 * Revokes every agent of an owner, all or none.
 * @param confirmation the owner's username, typed once more
 * @returns how many there were
 * @throws CodedError VALIDATION_ERROR where the username is not the owner's
 */
export function revokeAll(
  deps: Pick<OwnerDeps, 'db' | 'now'>,
  ownerId: number,
  confirmation: string,
  reason: string | null,
): Promise<number> {
  return deps.db.write(async (tx) => {
    await requireConfirmed(tx, ownerId, confirmation)
    return revokeAgents(tx, ownerId, reason, deps.now())
  })
}

/** The part that belongs in a transaction with what else ends. @returns how many were revoked */
export async function revokeAgents(
  tx: Tx,
  ownerId: number,
  reason: string | null,
  at: number,
): Promise<number> {
  const agents = await liveAgents(tx.db, ownerId)
  for (const agent of agents) {
    await writeStatus(tx, agent, { to: 'revoked', reason, by: 'owner' }, at)
  }
  return agents.length
}

/**
 * What cannot be undone is confirmed by the username.
 * @throws CodedError VALIDATION_ERROR
 */
export async function requireConfirmed(
  tx: Tx,
  ownerId: number,
  username: string,
): Promise<OwnerRow> {
  const owner = await ownerById(tx.db, ownerId)
  if (owner !== undefined && owner.deleted_at === null && owner.username === username) return owner
  throw new CodedError('VALIDATION_ERROR', 'To confirm, write your own username.')
}
