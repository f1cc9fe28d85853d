import {
  type AgentPatch,
  assertHonestDescription,
  assertHonestName,
  CodedError,
  type OwnerAgent,
  requireUsername,
  usernameSkeleton,
} from '@countersign/protocol'
import { reservedNames } from '../../accounts/identity-of-owner.ts'
import type { Caller } from '../../accounts/notify-of-access.ts'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { assertNotInQuarantine, quarantineUsername } from '../../accounts/username-quarantine.ts'
import { tailOf } from '../../base/site.ts'
import type { AgentRow, Tx } from '../../database/database.ts'
import { afterCommit } from '../../http/errors.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import type { Pepper } from '../../secrets/secrets.ts'
import { agentBySkeleton, tailOfUsername } from '../agent-table.ts'
import { changesOfProfile } from '../changes/change.ts'
import { changeAgent, UsernameTaken } from '../changes/change-agent.ts'
import { requireOwn } from '../find-agent.ts'
import { changeResponsible } from '../responsible/responsible-person.ts'
import { getOwnAgent } from './own-agent.ts'
import type { ProfileColumns } from './own-agent-table.ts'

/**
 * Writes the changed columns of an agent's profile and appends `agent.updated`, within the caller's transaction. Does
 * nothing if no column changes.
 * @param at milliseconds since the Unix epoch
 * @returns false if the username or a lookalike is taken; then nothing changed
 * @throws CodedError VALIDATION_ERROR if it would add anything to a revoked agent
 */
export async function writeProfile(
  tx: Tx,
  pepper: Pepper,
  row: AgentRow,
  profile: Partial<ProfileColumns>,
  at: number,
): Promise<boolean> {
  const changed = Object.values(changesOfProfile(row, profile))
  if (changed.length === 0) return true
  if (row.status === 'revoked' && changed.some((value) => value !== null)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'This agent is revoked. You can remove its texts, but not add or change any.',
    )
  }
  try {
    await changeAgent(tx, row.tail, { type: 'agent.updated', profile }, at)
  } catch (error) {
    if (error instanceof UsernameTaken) return false
    throw error
  }
  await quarantineReleased(tx, pepper, row, profile.username, at)
  return true
}

async function quarantineReleased(
  tx: Tx,
  pepper: Pepper,
  row: AgentRow,
  username: string | null | undefined,
  at: number,
): Promise<void> {
  if (row.username === null || username === undefined) return
  if (usernameSkeleton(username ?? '') === usernameSkeleton(row.username)) return
  const released = {
    namespace: 'agent',
    username: row.username,
    ownerId: row.owner_id,
    at,
  } as const
  await quarantineUsername(tx, pepper, released)
}

/**
 * Changes an agent's display name, username, description and responsible person.
 * @param reference the agent's DID or its tail
 * @param patch checked against the route's schema; null removes a value
 * @returns the agent after the change
 * @throws CodedError VALIDATION_ERROR if a text is invalid, the username is taken or was given up recently by another
 *   owner, the agent is revoked, or nobody can be responsible for it by that id; NOT_FOUND; FORBIDDEN if it adds anything while the owner is suspended
 */
export async function updateProfile(
  deps: Pick<CoreDeps, 'db' | 'site' | 'serviceName' | 'pepper' | 'now'>,
  { ownerId, membership }: Pick<Caller, 'ownerId' | 'membership'>,
  reference: string,
  patch: AgentPatch,
): Promise<OwnerAgent> {
  const { naming } = deps.site
  const { pepper } = deps
  const tail = tailOf(naming, reference)
  const { username, responsible } = patch
  if (typeof username === 'string') requireUsername(naming, username)
  assertHonestName('A display name', patch.displayName ?? '', reservedNames(deps))
  assertHonestDescription('A description', patch.description ?? '')
  await deps.db.write(async (tx) => {
    const row = await requireOwn(tx.db, ownerId, tail)
    if (Object.values(patch).some((value) => value !== null)) {
      await assertOwnerNotSuspended(tx.db, ownerId)
    }
    if (responsible !== undefined) {
      await changeResponsible(tx, row, responsible, membership !== null, deps.now())
    }
    if (typeof username === 'string') {
      const claim = { namespace: 'agent', username, ownerId, at: deps.now() } as const
      await assertNotInQuarantine(tx.db, pepper, claim)
      await releaseRevokedUsername(tx, pepper, row, username, deps.now())
    }
    if (await writeProfile(tx, pepper, row, columnsOf(patch), deps.now())) return
    throw await usernameTakenError(tx, username ?? '')
  })
  return afterCommit(() => getOwnAgent(deps, ownerId, tail))
}

/**
 * A revoked agent keeps its username, so that links and badges still show the revocation. Only its owner can reuse the
 * username, for another agent; nobody else can impersonate the revoked one.
 */
async function releaseRevokedUsername(
  tx: Tx,
  pepper: Pepper,
  row: AgentRow,
  username: string,
  at: number,
): Promise<void> {
  if (row.status === 'revoked') return
  const former = await agentBySkeleton(tx.db, usernameSkeleton(username))
  if (former?.status !== 'revoked' || former.owner_id !== row.owner_id) return
  await writeProfile(tx, pepper, former, { username: null, username_skeleton: null }, at)
}

function columnsOf({ displayName, username, description }: AgentPatch): Partial<ProfileColumns> {
  return {
    ...(displayName === undefined ? {} : { display_name: displayName }),
    // An empty description is stored as null.
    ...(description === undefined ? {} : { description: description || null }),
    ...(username === undefined
      ? {}
      : { username, username_skeleton: username && usernameSkeleton(username) }),
  }
}

async function usernameTakenError(tx: Tx, username: string): Promise<CodedError> {
  return new CodedError(
    'VALIDATION_ERROR',
    (await tailOfUsername(tx.db, username)) !== undefined
      ? `The username ${username} is taken.`
      : `The username ${username} looks like one that is taken.`,
  )
}
