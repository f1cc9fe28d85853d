import { CodedError } from '@countersign/protocol'
import type { OwnerDeps } from '../core/deps.ts'
import type { Session } from './session.ts'
import { deleteSessionById, deleteSessionsOfOwner } from './session-table.ts'

/**
 * Ends one of an owner's sessions, the current one included.
 * @throws CodedError NOT_FOUND
 */
export async function endOneSession(
  { db }: Pick<OwnerDeps, 'db'>,
  ownerId: number,
  id: string,
): Promise<void> {
  if (await db.write((tx) => deleteSessionById(tx, ownerId, id))) return
  throw new CodedError('NOT_FOUND', 'You have no such session.')
}

/** Ends all of an owner's sessions but the current one. */
export async function endOtherSessions(
  { db }: Pick<OwnerDeps, 'db'>,
  { ownerId, id }: Session,
): Promise<void> {
  await db.write((tx) => deleteSessionsOfOwner(tx, ownerId, id))
}
