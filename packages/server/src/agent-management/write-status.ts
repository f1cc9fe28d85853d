import { type AgentStatus, KEY_COMPROMISED, keyThumbprint } from '@countersign/protocol'
import { insertCompromisedKey } from '../agents/agent-key-table.ts'
import {
  type StatusChange,
  touchAgent,
  unrevokedAgentsOfKey,
  updateStatus,
} from '../agents/agent-table.ts'
import { regradeAgent } from '../agents/regrade.ts'
import { expireAnsweredChannels, stopChecks } from '../channels/channel-lifecycle.ts'
import type { AgentRow, Tx } from '../core/database/database.ts'
import { appendEvent, type EventType } from '../core/database/event-table.ts'
import { appendNotification } from '../core/database/notification-table.ts'

/** A status, why, and who sets it. */
export interface NewStatus extends Pick<StatusChange, 'to' | 'reason' | 'setBy'> {
  /** One of many: the caller notifies the owner of all of them at once. */
  readonly isBulk?: true
}

const EVENT_TYPES: Readonly<Record<AgentStatus, EventType>> = {
  active: 'agent.reactivated',
  suspended: 'agent.suspended',
  revoked: 'agent.revoked',
}

/**
 * Writes a status change that was checked before, within the caller's transaction: the status, its event, the grade,
 * and on revocation the end of channel checks.
 * @param at milliseconds since the Unix epoch
 */
export async function writeStatus(
  tx: Tx,
  agent: AgentRow,
  { to, reason, setBy, isBulk }: NewStatus,
  at: number,
): Promise<void> {
  const { tail, status: from, owner_id: ownerId } = agent
  const version = tx.nextSeq()
  await updateStatus(tx, { tail, from, to, reason, setBy, at, version })
  const payload = { status: to, reason }
  await appendEvent(tx, { seq: version, at, type: EVENT_TYPES[to], tail, ownerId, payload })
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
  if (to === 'revoked') await stopChecks(tx, tail)
}

/**
 * Revokes an agent within the caller's transaction. With the reason `key_compromised`, it also burns the agent's key.
 * @param agent not revoked
 * @param at milliseconds since the Unix epoch
 * @returns the tails of the revoked agents: this one and, if the key was burned, the owner's other agents with the key
 */
export async function revokeAgent(
  tx: Tx,
  agent: AgentRow,
  revocation: Omit<NewStatus, 'to'>,
  at: number,
): Promise<string[]> {
  await writeStatus(tx, agent, { to: 'revoked', ...revocation }, at)
  const isCompromised = revocation.reason === KEY_COMPROMISED
  const siblings = isCompromised ? await burnKey(tx, agent, revocation, at) : []
  return [agent, ...siblings].map(({ tail }) => tail)
}

/**
 * Burns the key of an agent that was just revoked: no agent with it stays verified, and no claim of it succeeds again.
 * Revokes the owner's other agents with this key and suspends those of other owners, whose DIDs are not this owner's to end.
 * @returns the owner's other agents
 */
async function burnKey(
  tx: Tx,
  revoked: AgentRow,
  revocation: Omit<NewStatus, 'to'>,
  at: number,
): Promise<AgentRow[]> {
  const holders = await unrevokedAgentsOfKey(tx.db, revoked.public_key)
  const siblings = holders.filter(({ owner_id }) => owner_id === revoked.owner_id)
  const reason = KEY_COMPROMISED
  for (const agent of holders) {
    if (siblings.includes(agent)) await writeStatus(tx, agent, { to: 'revoked', ...revocation }, at)
    else if (agent.status === 'active') {
      await writeStatus(tx, agent, { to: 'suspended', reason, setBy: 'service' }, at)
    }
  }
  for (const agent of [revoked, ...holders]) await recordCompromisedKey(tx, agent, at)
  return siblings
}

async function recordCompromisedKey(tx: Tx, agent: AgentRow, at: number): Promise<void> {
  if (!(await insertCompromisedKey(tx, agent, at))) return
  const { tail, owner_id: ownerId, key_sequence: keySequence } = agent
  const seq = tx.nextSeq()
  await touchAgent(tx, tail, { at, version: seq })
  const payload = { keySequence, keyThumbprint: keyThumbprint(agent.public_key) }
  await appendEvent(tx, { seq, at, type: 'agent.key_compromised', tail, ownerId, payload })
  await expireAnsweredChannels(tx, agent, at)
}
