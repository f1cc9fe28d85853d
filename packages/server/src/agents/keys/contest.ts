import {
  type AgentKeys,
  CONTEST_WINDOW_MS,
  CodedError,
  type ContestRequest,
} from '@countersign/protocol'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { tailOf } from '../../base/site.ts'
import type { AgentRow, Tx } from '../../database/database.ts'
import { afterCommit } from '../../http/errors.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { changeAgent } from '../changes/change-agent.ts'
import { RENOUNCED_MESSAGE } from '../changes/holds.ts'
import { burnKey } from '../changes/set-status.ts'
import { requireOwn } from '../find-agent.ts'
import { type AgentKey, currentSince, keysOfAgent } from './key-table.ts'
import { type KeyReuse, keyUseOf, keyUseRefusal } from './key-use.ts'
import { listKeys } from './list-keys.ts'

export interface ContestDeps extends Pick<CoreDeps, 'db' | 'site' | 'now'> {
  readonly keyReuse: KeyReuse
}

/**
 * Contests the rotations of an agent's key after the last good one: every later key is burned. With the reason
 * `key_compromised`, the last good key is burned too, because it may have signed the hostile rotation, and the agent is suspended
 * until it is recovered. With `mistake`, the last good key becomes current again, under the next sequence number; not if the key
 * has renounced the agent.
 * @param reference the agent's DID or its tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND; FORBIDDEN if the owner is suspended; AGENT_NOT_ACTIVE if the agent is revoked;
 *   CONFLICT if no rotation of the last 72 hours has replaced that key; KEY_ALREADY_CLAIMED if it cannot become current again
 */
export async function contest(
  deps: ContestDeps,
  ownerId: number,
  reference: string,
  request: ContestRequest,
): Promise<AgentKeys> {
  const tail = tailOf(deps.site.naming, reference)
  await deps.db.write(async (tx) => {
    await assertOwnerNotSuspended(tx.db, ownerId)
    const agent = await requireOwn(tx.db, ownerId, tail)
    if (agent.status === 'revoked') {
      throw new CodedError('AGENT_NOT_ACTIVE', 'This agent is revoked, which is final.')
    }
    await contestInTransaction(deps, tx, agent, request)
  })
  return afterCommit(() => listKeys(deps, tail))
}

async function contestInTransaction(
  { keyReuse, now }: ContestDeps,
  tx: Tx,
  agent: AgentRow,
  { sequence, reason }: ContestRequest,
): Promise<void> {
  const at = Math.max(now(), currentSince(agent))
  const keys = await keysOfAgent(tx.db, agent)
  const lastGood = assertContestable(keys, sequence, now())
  // A key that a restore has lost cannot be burned: nobody knows it here.
  const later = keys.filter((key) => key.sequence > sequence && key.state !== 'lost')
  const told = { tail: agent.tail, isSilent: true }
  const contested = { type: 'agent.key_contested', lastGoodSequence: sequence, reason } as const
  if (reason === 'mistake') {
    if (agent.renounce_final_at !== null) throw conflict(RENOUNCED_MESSAGE)
    await assertRestorable(tx, agent, lastGood, keyReuse, at)
    await changeAgent(tx, agent.tail, { ...contested, newKey: lastGood.public_key }, at)
    for (const key of later) await burnKey(tx, key.public_key, at, told)
    return
  }
  await changeAgent(tx, agent.tail, { ...contested, newKey: null }, at)
  for (const key of [lastGood, ...later]) await burnKey(tx, key.public_key, at, told)
}

/** @throws CodedError CONFLICT */
function assertContestable(keys: readonly AgentKey[], sequence: number, now: number): AgentKey {
  const key = keys.find((each) => each.sequence === sequence)
  const later = keys.filter((each) => each.sequence > sequence)
  if (key === undefined || key.state === 'lost' || later.length === 0 || key.valid_until === null) {
    throw conflict('No rotation has replaced a key of this agent with this sequence.')
  }
  if (later.some(({ changed_by }) => changed_by !== 'rotation')) {
    throw conflict(
      'A recovery or a contest has replaced the key since. Only rotations can be contested.',
    )
  }
  if (now - key.valid_until < CONTEST_WINDOW_MS) return key
  throw conflict(
    'The rotation that replaced this key was more than 72 hours ago. Start a recovery instead.',
  )
}

function conflict(message: string): CodedError {
  return new CodedError('CONFLICT', message)
}

/**
 * Checks that the last good key may become current again. Its own former use does not stand in the way.
 * @throws CodedError KEY_ALREADY_CLAIMED
 */
async function assertRestorable(
  tx: Tx,
  agent: AgentRow,
  { public_key: publicKey }: AgentKey,
  keyReuse: KeyReuse,
  at: number,
): Promise<void> {
  const wanted = { publicKey, agentId: agent.agent_id, ownerId: agent.owner_id }
  const use = await keyUseOf(tx.db, wanted, agent.tail, at)
  const refusal = keyUseRefusal(keyReuse, { ...use, isOwnFormerKey: false })
  if (refusal !== null) throw refusal
}
