import {
  type AgentPatch,
  CodedError,
  type OwnerAgent,
  requireUsername,
  usernameSkeleton,
} from '@countersign/protocol'
import { tailOfUsername } from '../../storage/agents.ts'
import type { Tx } from '../../storage/database.ts'
import type { AgentFace } from '../../storage/owner-agents.ts'
import type { OwnerDeps } from '../owner-deps.ts'
import { changeFace } from './change-face.ts'
import { requireOwn, showOwnAgent, tailOf } from './own-agent.ts'

/**
 * Changes an agent's display name, username and description; null takes away.
 * @param patch of the form that the schema of the route asks for
 * @returns the agent after the change
 * @throws CodedError VALIDATION_ERROR where the username cannot be had or the agent is revoked, NOT_FOUND
 */
export async function editProfile(
  deps: Pick<OwnerDeps, 'db' | 'site' | 'now'>,
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
    if (await changeFace(tx, row, faceOf(patch), deps.now())) return
    throw await refusalOfUsername(tx, username ?? '')
  })
  return showOwnAgent(deps, ownerId, tail)
}

function faceOf({ displayName, username, description }: AgentPatch): Partial<AgentFace> {
  return {
    ...(displayName === undefined ? {} : { display_name: displayName }),
    // A text without a letter is none.
    ...(description === undefined ? {} : { description: description || null }),
    ...(username === undefined
      ? {}
      : { username, username_skeleton: username && usernameSkeleton(username) }),
  }
}

async function refusalOfUsername(tx: Tx, username: string): Promise<CodedError> {
  return new CodedError(
    'VALIDATION_ERROR',
    (await tailOfUsername(tx.db, username)) !== undefined
      ? `The username ${username} is taken.`
      : `The username ${username} looks like one that is taken.`,
  )
}
