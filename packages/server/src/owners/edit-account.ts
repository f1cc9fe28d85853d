import { type AccountPatch, requireUsername, usernameSkeleton } from '@countersign/protocol'
import { ownerById, updateOwner } from '../agents/owner-table.ts'
import type { OwnerRow } from '../core/database/database.ts'
import { appendEvent } from '../core/database/event-table.ts'
import type { OwnerDeps } from '../core/deps.ts'
import { requireFreeOwnerUsername } from './add-owner.ts'
import { requireStillSignedIn, type Session } from './session.ts'

/**
 * Changes the names by which others know an owner. Their agents' cards show it at once.
 * @throws CodedError VALIDATION_ERROR, UNAUTHENTICATED where the session has ended meanwhile
 */
export async function editAccount(
  { db, site, now }: Pick<OwnerDeps, 'db' | 'site' | 'now'>,
  session: Session,
  { username, displayName }: AccountPatch,
): Promise<OwnerRow> {
  if (username !== undefined) requireUsername(site.naming, username)
  const { ownerId } = session
  return db.write(async (tx) => {
    // An account that is deleted meanwhile gets no name back.
    await requireStillSignedIn(tx, session)
    if (username !== undefined) {
      await requireFreeOwnerUsername(tx, username, ownerId)
      const username_skeleton = usernameSkeleton(username)
      await updateOwner(tx, ownerId, { username, username_skeleton })
    }
    if (displayName !== undefined) await updateOwner(tx, ownerId, { display_name: displayName })
    const seq = tx.nextSeq()
    const facts = { ...(username && { username }), ...(displayName && { displayName }) }
    await appendEvent(tx, { seq, at: now(), type: 'owner.updated', tail: null, ownerId, facts })
    return (await ownerById(tx.db, ownerId)) as OwnerRow
  })
}
