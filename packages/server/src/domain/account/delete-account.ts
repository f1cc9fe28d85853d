import type { Tx } from '../../storage/database.ts'
import { appendEvent } from '../../storage/events.ts'
import { agentsWithFace } from '../../storage/owner-agents.ts'
import {
  blankAgents,
  blankOwner,
  deleteBelongings,
  deleteJobs,
} from '../../storage/owner-erasure.ts'
import { eraseFacts } from '../../storage/owner-events.ts'
import { eraseChannels } from '../channels/erase-channels.ts'
import { changeFace } from '../owner-agents/change-face.ts'
import { requireConfirmed, revokeAgents } from '../owner-agents/revoke-all.ts'
import type { OwnerDeps } from '../owner-deps.ts'
import { cancelRegrade } from '../regrade-owner.ts'
import { EXPIRE_VERIFICATION } from '../verify-owner.ts'

const REASON = 'owner_deleted'
/** In the place of the owner's own label. */
const BLANK = 'deleted'
const NO_FACE = { username: null, username_skeleton: null, display_name: null, description: null }

/**
 * Deletes an account, all of it or nothing: revokes its agents, whose DIDs stay and say so, and erases whatever says
 * who stood behind them. The hashes of their subjects at identity providers go too, so that the same human may come
 * again and verify anew: to keep the hash would be to remember them.
 * @param confirmation the owner's username, typed once more
 * @returns how many agents were revoked now
 * @throws CodedError VALIDATION_ERROR where the username is not the owner's
 */
export function deleteAccount(
  { db, now }: Pick<OwnerDeps, 'db' | 'now'>,
  ownerId: number,
  confirmation: string,
): Promise<number> {
  return db.write(async (tx) => {
    const at = now()
    await requireConfirmed(tx, ownerId, confirmation)
    const revoked = await revokeAgents(tx, ownerId, REASON, at)
    await eraseChannels(tx, ownerId, REASON, at)
    await eraseFacts(tx, ownerId)
    await eraseAgents(tx, ownerId, at)
    await deleteJobs(tx, `${EXPIRE_VERIFICATION}:${ownerId}:`)
    await cancelRegrade(tx, ownerId)
    await deleteBelongings(tx, ownerId)
    // No username has a colon, so that nobody has this one.
    await blankOwner(tx, ownerId, `deleted:${ownerId}`, at)
    const seq = tx.nextSeq()
    await appendEvent(tx, { seq, at, type: 'owner.deleted', tail: null, ownerId, facts: {} })
    return revoked
  })
}

/** What agents said of themselves may say who their owner was. Each that said something has an event that tells. */
async function eraseAgents(tx: Tx, ownerId: number, at: number): Promise<void> {
  for (const agent of await agentsWithFace(tx.db, ownerId)) {
    await changeFace(tx, agent, { ...NO_FACE, avatar: null }, at)
  }
  await blankAgents(tx, ownerId, BLANK)
}
