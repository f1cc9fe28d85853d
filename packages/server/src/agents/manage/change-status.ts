import {
  type AgentStatus,
  CodedError,
  canBecome,
  type OwnerAgent,
  type Tail,
} from '@countersign/protocol'
import type { Caller } from '../../accounts/notify-of-access.ts'
import { tailOf } from '../../base/site.ts'
import type { AgentRow, Database, Tx } from '../../database/database.ts'
import { afterCommit } from '../../http/errors.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { agentByTail } from '../agent-table.ts'
import { holdOf, liftKeySuspension, suspendKey } from '../changes/holds.ts'
import { revokeAgent, setStatus } from '../changes/set-status.ts'
import { requireOwn } from '../find-agent.ts'
import { keysOfAgent } from '../keys/key-table.ts'
import { assertResponsible } from '../responsible/responsible-person.ts'
import { getOwnAgent } from './own-agent.ts'
import { takeFromRevocationQuota } from './revocation-quota.ts'

export interface ChangeStatusDeps {
  readonly db: Database
  readonly now: () => number
}

export interface StatusRequest {
  readonly tail: Tail
  readonly to: AgentStatus
  /** A machine-readable word such as `key_compromised`, or null. */
  readonly reason: string | null
  readonly by: 'owner' | 'operator'
  /** The owner who asks. Undefined: the operator. */
  readonly ownerId?: number
}

const REASON_PATTERN = /^[a-z][a-z0-9_-]{0,63}$/

/** @throws CodedError VALIDATION_ERROR if a reason is not a machine-readable word */
export function assertReason(reason: string | null): void {
  if (reason === null || REASON_PATTERN.test(reason)) return
  throw new CodedError(
    'VALIDATION_ERROR',
    'A reason is a word of lower-case letters, digits, _ and -, such as key_compromised.',
  )
}

/**
 * Suspends, reactivates or revokes an agent (docs/contract/states.md, status transitions). The operator's suspension, and its
 * end, apply to the agent's key. A revocation with the reason `key_compromised` burns the key.
 * @returns the agent's status after the change
 * @throws CodedError VALIDATION_ERROR if the transition is not allowed, NOT_FOUND, or FORBIDDEN if the agent's key or owner
 *   keeps it from being reactivated, or the owner tries to reactivate an agent that the operator suspended, or CONFLICT if its key
 *   has renounced it or an organisation has nobody who is responsible for it
 */
export async function changeStatus(
  deps: ChangeStatusDeps,
  request: StatusRequest,
): Promise<AgentStatus> {
  assertReason(request.reason)
  return deps.db.write(async (tx) => {
    const agent = await requireAgent(tx, request)
    const at = deps.now()
    if (!(await changeKeySuspension(tx, agent, request, at))) {
      await changeCheckedStatus(tx, agent, request, at)
    }
    return (await requireAgent(tx, request)).status
  })
}

async function requireAgent(
  tx: Tx,
  { tail, ownerId }: Pick<StatusRequest, 'tail' | 'ownerId'>,
): Promise<AgentRow> {
  if (ownerId !== undefined) return requireOwn(tx.db, ownerId, tail)
  const agent = await agentByTail(tx.db, tail)
  if (agent !== undefined) return agent
  throw new CodedError('NOT_FOUND', 'There is no agent with this DID.')
}

/**
 * Suspends the agent's key for the operator, or lifts that, even if the owner has revoked the agent meanwhile.
 * @returns false, without a change, if the request changes no suspension of a key
 */
async function changeKeySuspension(
  tx: Tx,
  agent: AgentRow,
  { to, reason, by }: StatusRequest,
  at: number,
): Promise<boolean> {
  if (by === 'owner') return false
  if (to !== 'active') {
    const { public_key: key, status } = agent
    return to === 'suspended' && status !== 'revoked' && suspendKey(tx, key, reason, at)
  }
  if (await liftKeySuspension(tx, agent.public_key, reason, at)) return true
  // A recovery may have replaced the key that was suspended. The agent itself is still suspended then.
  let isLifted = false
  for (const { public_key: key } of await keysOfAgent(tx.db, agent)) {
    isLifted = (await liftKeySuspension(tx, key, reason, at)) || isLifted
  }
  return isLifted && (agent.status !== 'suspended' || agent.renounce_final_at !== null)
}

async function changeCheckedStatus(
  tx: Tx,
  agent: AgentRow,
  { to, reason, by: setBy }: StatusRequest,
  at: number,
): Promise<void> {
  if (!canBecome(agent.status, to)) throw cannotBecome(agent.status, to)
  if (to === 'revoked') {
    await revokeAgent(tx, agent, { reason, setBy }, at)
    return
  }
  if (to === 'active') await assertMayReactivate(tx, agent, setBy)
  await setStatus(tx, agent.tail, { to, reason, setBy }, at)
}

/** The transition is not allowed. */
export function cannotBecome(from: AgentStatus, to: AgentStatus): CodedError {
  return new CodedError('VALIDATION_ERROR', `An agent that is ${from} cannot become ${to}.`)
}

async function assertMayReactivate(
  tx: Tx,
  agent: AgentRow,
  by: StatusRequest['by'],
): Promise<void> {
  const hold = await holdOf(tx.db, agent)
  if (hold !== null) throw new CodedError(hold.code, hold.message)
  if (by === 'owner' && agent.status_set_by === 'operator') {
    throw new CodedError('FORBIDDEN', 'The operator suspended this agent; only they can lift it.')
  }
  if (by === 'owner') await assertResponsible(tx.db, agent)
}

/**
 * Suspends, reactivates or revokes an agent for its owner, which it must be in the transaction too: it may move to another
 * one meanwhile.
 * @param reference the agent's DID or its tail
 * @returns the agent after the change
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, or FORBIDDEN if the operator suspended it; RATE_LIMITED if an API key
 *   revokes too fast
 */
export async function changeOwnStatus(
  deps: Pick<CoreDeps, 'db' | 'site' | 'pepper' | 'now'>,
  caller: Caller,
  reference: string,
  change: { readonly to: AgentStatus; readonly reason: string | null },
): Promise<OwnerAgent> {
  const tail = tailOf(deps.site.naming, reference)
  const { ownerId } = caller
  const { status } = await requireOwn(deps.db.read, ownerId, tail)
  if (change.to === 'revoked' && status !== 'revoked') await takeFromRevocationQuota(deps, caller)
  await changeStatus(deps, { tail, ...change, by: 'owner', ownerId })
  return afterCommit(() => getOwnAgent(deps, ownerId, tail))
}
