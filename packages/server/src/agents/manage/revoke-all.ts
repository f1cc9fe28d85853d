import { CodedError } from '@countersign/protocol'
import { appendNotification } from '../../accounts/notifications/notify-owner.ts'
import { ownerById } from '../../accounts/owner-table.ts'
import type { OwnerRow, Tx } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { revokeAgent } from '../changes/set-status.ts'
import { unrevokedAgents } from './own-agent-table.ts'

/** Agents changed in one transaction at most, because other writers on all nodes wait for it. */
export const REVOKE_BATCH_SIZE = 200

/**
 * Revokes every agent of an owner, oldest first, in transactions of 200. Revocation is permanent, so if a batch fails,
 * a retry continues from there.
 * @param confirmation the owner's username, typed again
 * @param reason see `StatusRequest`
 * @returns the number of agents revoked
 * @throws CodedError VALIDATION_ERROR if the username does not match
 */
export async function revokeAll(
  deps: Pick<CoreDeps, 'db' | 'now'>,
  ownerId: number,
  confirmation: string,
  reason: string | null,
): Promise<number> {
  for (let revoked = 0; ; ) {
    const count = await deps.db.write(async (tx) => {
      await assertConfirmed(tx, ownerId, confirmation)
      const at = deps.now()
      const count = await revokeAgents(tx, ownerId, reason, at, REVOKE_BATCH_SIZE)
      if (revoked === 0 && count > 0) await notifyOfRevocations(tx, ownerId, reason, at)
      return count
    })
    revoked += count
    if (count < REVOKE_BATCH_SIZE) return revoked
  }
}

async function notifyOfRevocations(
  tx: Tx,
  ownerId: number,
  reason: string | null,
  at: number,
): Promise<void> {
  const details = { reason }
  await appendNotification(tx, { ownerId, kind: 'agents_revoked', subject: `${at}`, details, at })
}

/**
 * Revokes agents of an owner within the caller's transaction, oldest first.
 * @param at milliseconds since the Unix epoch
 * @param limit of agents; burning a key may revoke further ones
 * @returns the number of agents revoked
 */
async function revokeAgents(
  tx: Tx,
  ownerId: number,
  reason: string | null,
  at: number,
  limit: number,
): Promise<number> {
  const agents = await unrevokedAgents(tx.db, ownerId, limit)
  const revoked = new Set<string>()
  for (const agent of agents) {
    if (revoked.has(agent.tail)) continue
    const revocation = { reason, setBy: 'owner', isBulk: true } as const
    for (const tail of await revokeAgent(tx, agent, revocation, at)) revoked.add(tail)
  }
  return revoked.size
}

/**
 * Checks that the owner confirmed an irreversible action by typing their username.
 * @throws CodedError VALIDATION_ERROR if it does not match, or the account was deleted
 */
export async function assertConfirmed(
  tx: Tx,
  ownerId: number,
  username: string,
): Promise<OwnerRow> {
  const owner = await ownerById(tx.db, ownerId)
  if (owner !== undefined && owner.deleted_at === null && owner.username === username) return owner
  throw new CodedError('VALIDATION_ERROR', 'To confirm, enter your own username.')
}
