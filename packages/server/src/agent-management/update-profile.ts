import { CodedError } from '@countersign/protocol'
import type { AgentRow, Tx } from '../core/database/database.ts'
import { appendEvent } from '../core/database/event-table.ts'
import { type AgentFace, updateFace } from './own-agent-table.ts'

/** How a face is told in events, all of it public. The shape of a username is no fact of its own. */
const NAMES = {
  display_name: 'displayName',
  username: 'username',
  description: 'description',
  avatar: 'avatar',
} as const

/**
 * Changes what an agent looks like, and tells of it. What stays as it is is no change.
 * @returns false where the username, or one that looks like it, is taken, and nothing changed
 * @throws CodedError VALIDATION_ERROR where something would be added to a revoked agent
 */
export async function changeFace(
  tx: Tx,
  row: AgentRow,
  face: Partial<AgentFace>,
  at: number,
): Promise<boolean> {
  const changed = Object.keys(NAMES).filter((key): key is keyof typeof NAMES => {
    const column = key as keyof typeof NAMES
    return face[column] !== undefined && face[column] !== row[column]
  })
  if (changed.length === 0) return true
  if (row.status === 'revoked' && changed.some((column) => face[column] !== null)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'This agent is revoked: what it says can be taken away, but nothing can be added or changed.',
    )
  }
  const seq = tx.nextSeq()
  if (!(await updateFace(tx, row.tail, face, { at, version: seq }))) return false
  await appendEvent(tx, {
    seq,
    at,
    type: 'agent.updated',
    tail: row.tail,
    ownerId: row.owner_id,
    facts: Object.fromEntries(changed.map((column) => [NAMES[column], face[column]])),
  })
  return true
}
