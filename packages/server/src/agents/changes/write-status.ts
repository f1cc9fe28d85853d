import {
  type AgentStatus,
  type JsonValue,
  KEY_COMPROMISED,
  keyThumbprint,
} from '@countersign/protocol'
import { appendNotification } from '../../accounts/notifications/notify-owner.ts'
import type { AgentRow, Tx } from '../../database/database.ts'
import { appendEvent, type EventType } from '../../database/event-table.ts'
import {
  agentByTail,
  type StatusChange,
  touchAgent,
  unrevokedAgentsOfKey,
  updateStatus,
} from '../agent-table.ts'
import { insertCompromisedKey, markCompromised } from '../keys/agent-key-table.ts'
import { recoveriesTo } from '../keys/key-recovery-table.ts'
import { announce } from './agent-effects.ts'
import { endRecovery } from './end-recovery.ts'
import { logChange } from './log-change.ts'
import { regradeAgent } from './regrade.ts'
import { invalidateEntry } from './revise-status-entry.ts'

/** A status, why, and who sets it. */
export interface NewStatus extends Pick<StatusChange, 'to' | 'reason' | 'setBy'> {
  /** One of many: the caller notifies the owner of all of them at once. */
  readonly isBulk?: true
  /** It follows from the deletion of the owner's account: the entries of the log are spread (`LoggedChange`). */
  readonly isSpread?: boolean
  /** What the transparency log commits to besides the reason, such as a signature of the agent. */
  readonly evidence?: JsonValue
}

const EVENT_TYPES: Readonly<Record<AgentStatus, EventType>> = {
  active: 'agent.reactivated',
  suspended: 'agent.suspended',
  revoked: 'agent.revoked',
}

/**
 * Writes a status change that was checked before, within the caller's transaction: the status, its event, the grade, the status
 * of the agent's certificates, and on revocation the end of channel checks and of a pending recovery.
 * @param at milliseconds since the Unix epoch
 */
export async function writeStatus(
  tx: Tx,
  agent: AgentRow,
  { to, reason, setBy, isBulk, isSpread = false, evidence = null }: NewStatus,
  at: number,
): Promise<void> {
  const { tail, status: from, owner_id: ownerId } = agent
  const version = tx.nextSeq()
  await updateStatus(tx, { tail, from, to, reason, setBy, at, version })
  const payload = { status: to, reason }
  await appendEvent(tx, { seq: version, at, type: EVENT_TYPES[to], tail, ownerId, payload })
  await logChange(tx, tail, {
    ...{ seq: version, at, by: setBy, isSpread },
    change: { type: 'status', status: to, reason },
    evidence: { reason, evidence },
  })
  if (to !== 'active' && to !== from && !isBulk) {
    await appendNotification(tx, {
      ownerId,
      kind: to === 'revoked' ? 'agent_revoked' : 'agent_suspended',
      subject: `${tail}:${version}`,
      details: { tail, agentId: agent.agent_id, reason, by: setBy },
      at,
    })
  }
  await regradeAgent(tx, { ...agent, status: to }, at)
  await announce(tx, { type: EVENT_TYPES[to], before: agent, at })
  if (to !== 'revoked') return
  await endRecovery(tx, agent, { reason: 'revoked' }, at)
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
  await writeStatus(tx, agent, { to: 'revoked', ...revocation }, at)
  if (revocation.reason === KEY_COMPROMISED) {
    for (const sibling of await unrevokedAgentsOfKey(tx.db, agent.public_key)) {
      if (sibling.owner_id !== agent.owner_id) continue
      await writeStatus(tx, sibling, { to: 'revoked', ...revocation }, at)
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
  const holders = await unrevokedAgentsOfKey(tx.db, key)
  const suspended = { to: 'suspended', reason: KEY_COMPROMISED, setBy: 'service' } as const
  for (const agent of holders) {
    if (agent.status === 'active') await writeStatus(tx, agent, suspended, at)
  }
  await markCompromised(tx, key)
  for (const agent of [...revoked, ...holders]) await recordCompromisedKey(tx, agent, at)
  for (const { tail } of await recoveriesTo(tx.db, key)) {
    const agent = await agentByTail(tx.db, tail)
    if (agent !== undefined) await endRecovery(tx, agent, { reason: KEY_COMPROMISED }, at)
  }
}

async function recordCompromisedKey(tx: Tx, agent: AgentRow, at: number): Promise<void> {
  await invalidateEntry(tx, agent.tail, at)
  if (!(await insertCompromisedKey(tx, agent, at))) return
  await appendCompromised(tx, agent, { sequence: agent.key_sequence, key: agent.public_key }, at)
  await announce(tx, { type: 'agent.key_compromised', before: agent, at })
}

/** Appends `agent.key_compromised` for a key that an agent has or had. */
export async function appendCompromised(
  tx: Tx,
  { tail, owner_id: ownerId }: Pick<AgentRow, 'tail' | 'owner_id'>,
  { sequence, key }: { readonly sequence: number; readonly key: Uint8Array },
  at: number,
): Promise<void> {
  const seq = tx.nextSeq()
  await touchAgent(tx, tail, { at, version: seq })
  const payload = { keySequence: sequence, keyThumbprint: keyThumbprint(key) }
  await appendEvent(tx, { seq, at, type: 'agent.key_compromised', tail, ownerId, payload })
}
