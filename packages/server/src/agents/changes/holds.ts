import {
  type ErrorCode,
  KEY_COMPROMISED,
  KEY_UNKNOWN_AFTER_RESTORE,
  RENOUNCED_BY_AGENT,
} from '@countersign/protocol'
import { ownerById } from '../../accounts/owner-table.ts'
import type { AgentRow, Db, Tx } from '../../database/database.ts'
import { isKeyLost, OWNER_SUSPENDED, unrevokedAgentsOfKey } from '../agent-table.ts'
import {
  deleteSuspendedKey,
  insertSuspendedKey,
  isCompromised,
  suspensionOfKey,
} from '../keys/key-table.ts'
import { type NewStatus, setStatus } from './set-status.ts'

/** The reason why an agent cannot be active. */
export interface Hold extends Pick<NewStatus, 'reason' | 'setBy'> {
  /** For people. */
  readonly message: string
  /** Of the refusal to reactivate the agent. */
  readonly code: ErrorCode
}

/** What is refused to an agent that its current key has renounced. */
export const RENOUNCED_MESSAGE =
  'This key has renounced the agent. Recover it with a new key, or report the key.'

/** Finds what keeps an agent from being active: a key that is lost, compromised or has renounced it, or a suspension of its key or owner. */
export async function holdOf(db: Db, agent: AgentRow): Promise<Hold | null> {
  if (isKeyLost(agent)) {
    const message =
      'The key of this agent was lost when the service was restored. Recover the agent with a new key.'
    return { reason: KEY_UNKNOWN_AFTER_RESTORE, setBy: 'service', message, code: 'FORBIDDEN' }
  }
  if (await isCompromised(db, agent.public_key)) {
    const message = 'The key of this agent was reported as compromised. It cannot be reactivated.'
    return { reason: KEY_COMPROMISED, setBy: 'service', message, code: 'FORBIDDEN' }
  }
  if (agent.renounce_final_at !== null) {
    const message = RENOUNCED_MESSAGE
    return { reason: RENOUNCED_BY_AGENT, setBy: 'agent', message, code: 'CONFLICT' }
  }
  const suspension = await suspensionOfKey(db, agent.public_key)
  if (suspension !== undefined) {
    const message = 'The operator suspended the key of this agent; only they can lift it.'
    return { reason: suspension.reason, setBy: 'operator', message, code: 'FORBIDDEN' }
  }
  const owner = await ownerById(db, agent.owner_id)
  if (owner === undefined || owner.suspended_at === null) return null
  const message = 'The operator suspended the owner of this agent; only they can lift it.'
  return { reason: OWNER_SUSPENDED, setBy: 'operator', message, code: 'FORBIDDEN' }
}

/**
 * Suspends a key for the operator: suspends its active agents, of all owners. Until `liftKeySuspension`, claims of the key are
 * refused and its agents cannot be reactivated, even if an owner revokes them.
 * @param at milliseconds since the Unix epoch
 * @returns false, without a change, if the key is suspended already
 */
export async function suspendKey(
  tx: Tx,
  publicKey: Uint8Array,
  reason: string | null,
  at: number,
): Promise<boolean> {
  const row = { public_key: publicKey, reason, suspended_at: at }
  if (!(await insertSuspendedKey(tx, row))) return false
  for (const agent of await unrevokedAgentsOfKey(tx.db, publicKey)) {
    if (agent.status !== 'active') continue
    await setStatus(tx, agent.tail, { to: 'suspended', reason, setBy: 'operator' }, at)
  }
  return true
}

/**
 * Lifts the operator's suspension of a key. Its agents become active again, except those that are suspended for another reason.
 * @param at milliseconds since the Unix epoch
 * @returns false, without a change, if the key is not suspended
 */
export async function liftKeySuspension(
  tx: Tx,
  publicKey: Uint8Array,
  reason: string | null,
  at: number,
): Promise<boolean> {
  if (!(await deleteSuspendedKey(tx, publicKey))) return false
  for (const agent of await unrevokedAgentsOfKey(tx.db, publicKey)) {
    const { status, status_set_by: setBy } = agent
    if (status === 'suspended' && setBy === 'operator') await resume(tx, agent, reason, at)
  }
  return true
}

/**
 * Reactivates an agent whose suspension by the operator was lifted. If something else holds it, it stays suspended, with
 * that as its reason.
 * @param reason recorded if the agent becomes active
 * @param isBulk whether it is one of many agents of an owner
 * @returns whether it became active
 */
export async function resume(
  tx: Tx,
  agent: AgentRow,
  reason: string | null,
  at: number,
  isBulk = false,
): Promise<boolean> {
  const hold = await holdOf(tx.db, agent)
  if (hold === null) {
    await setStatus(tx, agent.tail, { to: 'active', reason, setBy: 'operator', isBulk }, at)
    return true
  }
  if (hold.reason !== agent.status_reason || hold.setBy !== agent.status_set_by) {
    const held = { to: 'suspended', reason: hold.reason, setBy: hold.setBy, isBulk } as const
    await setStatus(tx, agent.tail, held, at)
  }
  return false
}
