import {
  type AgentPatch,
  CodedError,
  type OwnerAgent,
  requireUsername,
  usernameSkeleton,
} from '@countersign/protocol'
import { agentLookingLike, tailOfUsername } from '../agents/agent-table.ts'
import { requireOwn, tailOf } from '../agents/require-own-agent.ts'
import type { AgentRow, Tx } from '../core/database/database.ts'
import { appendEvent } from '../core/database/event-table.ts'
import type { CoreDeps } from '../core/deps.ts'
import { afterCommit } from '../core/errors.ts'
import { getOwnAgent } from './own-agent.ts'
import { type ProfileColumns, updateProfileColumns } from './own-agent-table.ts'

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
export async function writeProfile(
  tx: Tx,
  row: AgentRow,
  face: Partial<ProfileColumns>,
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
  if (!(await updateProfileColumns(tx, row.tail, face, { at, version: seq }))) return false
  await appendEvent(tx, {
    seq,
    at,
    type: 'agent.updated',
    tail: row.tail,
    ownerId: row.owner_id,
    payload: Object.fromEntries(changed.map((column) => [NAMES[column], face[column]])),
  })
  return true
}

/**
 * Changes an agent's display name, username and description; null takes away.
 * @param patch of the form that the schema of the route asks for
 * @returns the agent after the change
 * @throws CodedError VALIDATION_ERROR where the username cannot be had or the agent is revoked, NOT_FOUND
 */
export async function updateProfile(
  deps: Pick<CoreDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
  reference: string,
  patch: AgentPatch,
): Promise<OwnerAgent> {
  const { naming } = deps.site
  const tail = tailOf(naming, reference)
  const { username } = patch
  if (typeof username === 'string') requireUsername(naming, username)
  await deps.db.write(async (tx) => {
    const row = await requireOwn(tx.db, ownerId, tail)
    if (typeof username === 'string') await releaseRevokedUsername(tx, row, username, deps.now())
    if (await writeProfile(tx, row, columnsOf(patch), deps.now())) return
    throw await usernameTaken(tx, username ?? '')
  })
  return afterCommit(() => getOwnAgent(deps, ownerId, tail))
}

/**
 * A revoked agent keeps its username, so that links and badges with it go on to say that it is revoked. Only its owner
 * may hand it on, to another agent of theirs: nobody else ever stands where it stood.
 */
async function releaseRevokedUsername(
  tx: Tx,
  row: AgentRow,
  username: string,
  at: number,
): Promise<void> {
  if (row.status === 'revoked') return
  const holder = await agentLookingLike(tx.db, usernameSkeleton(username))
  if (holder?.status !== 'revoked' || holder.owner_id !== row.owner_id) return
  await writeProfile(tx, holder, { username: null, username_skeleton: null }, at)
}

function columnsOf({ displayName, username, description }: AgentPatch): Partial<ProfileColumns> {
  return {
    ...(displayName === undefined ? {} : { display_name: displayName }),
    // A text without a letter is none.
    ...(description === undefined ? {} : { description: description || null }),
    ...(username === undefined
      ? {}
      : { username, username_skeleton: username && usernameSkeleton(username) }),
  }
}

async function usernameTaken(tx: Tx, username: string): Promise<CodedError> {
  return new CodedError(
    'VALIDATION_ERROR',
    (await tailOfUsername(tx.db, username)) !== undefined
      ? `The username ${username} is taken.`
      : `The username ${username} looks like one that is taken.`,
  )
}
