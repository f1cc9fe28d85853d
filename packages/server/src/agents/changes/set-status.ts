import { type AgentStatus, type JsonValue, KEY_COMPROMISED } from '@countersign/protocol'
import type { AgentRow, Tx } from '../../database/database.ts'
import { agentsOfKey, unrevokedAgentsOfKey } from '../agent-table.ts'
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
  const revoked = [agent.tail]
  await setStatus(tx, agent.tail, { to: 'revoked', ...revocation }, at)
  if (revocation.reason === KEY_COMPROMISED) {
    for (const sibling of await unrevokedAgentsOfKey(tx.db, agent.public_key)) {
      if (sibling.owner_id !== agent.owner_id) continue
      await setStatus(tx, sibling.tail, { to: 'revoked', ...revocation }, at)
      revoked.push(sibling.tail)
    }
    await burnKey(tx, agent.public_key, at)
  }
  return revoked
}

/** The agent by which a key is reported. */
export interface ReportedAgent {
  readonly tail: string
  /** What the log commits to if the report suspends the agent. */
  readonly evidence?: JsonValue
  /** The owner is notified of another change of the same transaction. */
  readonly isSilent: boolean
}

/**
 * Burns a key: no agent with it stays verified, no pending recovery makes it current, and nobody can use it for an agent
 * again. Suspends the agents that have it and are active or renounced, of all owners. A key that is burned already changes nothing.
 * @param at milliseconds since the Unix epoch
 */
export async function burnKey(
  tx: Tx,
  key: Uint8Array,
  at: number,
  reported: ReportedAgent | null = null,
): Promise<void> {
  const agents = await agentsOfKey(tx.db, key)
  const told = new Set(reported?.isSilent ? [reported.tail] : [])
  for (const { tail, status, renounce_final_at: finalAt } of agents) {
    if (status !== 'active' && finalAt === null) continue
    const { evidence = null } = tail === reported?.tail ? reported : {}
    const suspended = { to: 'suspended', reason: KEY_COMPROMISED, setBy: 'service' } as const
    await setStatus(tx, tail, { ...suspended, evidence }, at)
    if (status === 'active') told.add(tail)
  }
  const burned = await markCompromised(tx, key)
  for (const agent of agents) {
    if (!(await insertCompromisedKey(tx, agent, at))) continue
    burned.push({ tail: agent.tail, sequence: agent.key_sequence })
  }
  for (const { tail, sequence } of burned) {
    const isSilent = told.has(tail)
    await changeAgent(tx, tail, { type: 'agent.key_compromised', sequence, key, isSilent }, at)
  }
  const type = 'agent.key_recovery_cancelled'
  for (const { tail } of await recoveriesTo(tx.db, key)) {
    await endRecovery(tx, tail, { type, reason: KEY_COMPROMISED }, at)
  }
}
