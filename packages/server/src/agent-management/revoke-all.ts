import { CodedError } from '@countersign/protocol'
import { ownerById } from '../agents/owner-table.ts'
import type { OwnerRow, Tx } from '../core/database/database.ts'
import type { CoreDeps } from '../core/deps.ts'
import { writeStatus } from './change-status.ts'
import { unrevokedAgents } from './own-agent-table.ts'

/** So many agents are changed in one transaction at most: whoever else writes waits for its end, on every node. */
export const AGENTS_AT_ONCE = 200

/**
 * Revokes every agent of an owner, the oldest first: up to 200 all or none, more in parts of 200. Revoked is for good,
 * so that where a part fails whoever asks again goes on from there.
 * @param confirmation the owner's username, typed once more
 * @returns how many there were
 * @throws CodedError VALIDATION_ERROR where the username is not the owner's
 */
export async function revokeAll(
  deps: Pick<CoreDeps, 'db' | 'now'>,
  ownerId: number,
  confirmation: string,
  reason: string | null,
): Promise<number> {
  for (let revoked = 0; ; ) {
    const part = await deps.db.write(async (tx) => {
      await assertConfirmed(tx, ownerId, confirmation)
      return revokeAgents(tx, ownerId, reason, deps.now(), AGENTS_AT_ONCE)
    })
    revoked += part
    if (part < AGENTS_AT_ONCE) return revoked
  }
}

/**
 * The part that belongs in a transaction with what else ends.
 * @param limit how many at most
 * @returns how many were revoked
 */
export async function revokeAgents(
  tx: Tx,
  ownerId: number,
  reason: string | null,
  at: number,
  limit: number,
): Promise<number> {
  const agents = await unrevokedAgents(tx.db, ownerId, limit)
  for (const agent of agents) {
    await writeStatus(tx, agent, { to: 'revoked', reason, by: 'owner' }, at)
  }
  return agents.length
}

/**
 * What cannot be undone is confirmed by the username.
 * @throws CodedError VALIDATION_ERROR
 */
export async function assertConfirmed(
  tx: Tx,
  ownerId: number,
  username: string,
): Promise<OwnerRow> {
  const owner = await ownerById(tx.db, ownerId)
  if (owner !== undefined && owner.deleted_at === null && owner.username === username) return owner
  throw new CodedError('VALIDATION_ERROR', 'To confirm, write your own username.')
}
