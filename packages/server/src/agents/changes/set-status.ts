import { type AgentStatus, KEY_COMPROMISED } from '@countersign/protocol'
import type { AgentRow, Tx } from '../../database/database.ts'
import { unrevokedAgentsOfKey } from '../agent-table.ts'
import { endRecovery } from '../keys/end-recovery.ts'
import { insertCompromisedKey, markCompromised, recoveriesTo } from '../keys/key-table.ts'
import type { Change } from './change.ts'
import { changeAgent } from './change-agent.ts'

type StatusSet = Extract<Change, { readonly type: 'agent.revoked' }>

/** A status, why, and who sets it. */
export interface NewStatus extends Omit<StatusSet, 'type'> {
  readonly to: AgentStatus
}

const EVENT_TYPES = {
  active: 'agent.reactivated',
  suspended: 'agent.suspended',
  revoked: 'agent.revoked',
} as const

/**
 * Writes a status change that was checked before, within the caller's transaction.
 * @param at milliseconds since the Unix epoch
 */
export async function setStatus(
  tx: Tx,
  tail: string,
  { to, ...status }: NewStatus,
  at: number,
): Promise<void> {
  await changeAgent(tx, tail, { type: EVENT_TYPES[to], ...status }, at)
}

/**
 * Revokes an agent within the caller's transaction. With the reason `key_compromised`, it also revokes the owner's other agents
 * with the key, and burns the key.
 * @param agent not revoked
 * @param at milliseconds since the Unix epoch
 * @returns the tails of the revoked agents
 */
export async function revokeAgent(
  tx: Tx,
  agent: AgentRow,
  revocation: Omit<NewStatus, 'to'>,
  at: number,
): Promise<string[]> {
  const revoked = [agent]
  await setStatus(tx, agent.tail, { to: 'revoked', ...revocation }, at)
  if (revocation.reason === KEY_COMPROMISED) {
    for (const sibling of await unrevokedAgentsOfKey(tx.db, agent.public_key)) {
      if (sibling.owner_id !== agent.owner_id) continue
      await setStatus(tx, sibling.tail, { to: 'revoked', ...revocation }, at)
      revoked.push(sibling)
    }
    await burnKey(tx, agent.public_key, at, revoked)
  }
  return revoked.map(({ tail }) => tail)
}

/**
 * Burns a key: no agent with it stays verified, no pending recovery makes it current, and nobody can use it for an agent
 * again. Suspends the active agents that have it, of all owners.
 * @param at milliseconds since the Unix epoch
 * @param revoked agents that had the key and were revoked in this transaction
 */
export async function burnKey(
  tx: Tx,
  key: Uint8Array,
  at: number,
  revoked: readonly AgentRow[] = [],
): Promise<void> {
  const agents = await unrevokedAgentsOfKey(tx.db, key)
  const suspended = { to: 'suspended', reason: KEY_COMPROMISED, setBy: 'service' } as const
  for (const { tail, status } of agents) {
    if (status === 'active') await setStatus(tx, tail, suspended, at)
  }
  await markCompromised(tx, key)
  for (const agent of [...revoked, ...agents]) {
    if (!(await insertCompromisedKey(tx, agent, at))) continue
    const { tail, key_sequence: sequence } = agent
    await changeAgent(tx, tail, { type: 'agent.key_compromised', sequence, key }, at)
  }
  const type = 'agent.key_recovery_cancelled'
  for (const { tail } of await recoveriesTo(tx.db, key)) {
    await endRecovery(tx, tail, { type, reason: KEY_COMPROMISED }, at)
  }
}
