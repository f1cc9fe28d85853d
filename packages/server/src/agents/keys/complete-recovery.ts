import {
  CodedError,
  KEY_COMPROMISED,
  KEY_UNKNOWN_AFTER_RESTORE,
  type Tail,
} from '@countersign/protocol'
import type { AgentRow, Db, JobRow, Tx } from '../../database/database.ts'
import { agentByTail } from '../agent-table.ts'
import { changeAgent } from '../changes/change-agent.ts'
import { type Hold, holdOf } from '../changes/holds.ts'
import { setStatus } from '../changes/set-status.ts'
import { endRecovery } from './end-recovery.ts'
import {
  currentSince,
  deleteRecovery,
  keysOfAgent,
  recoveryOf,
  suspensionOfKey,
} from './key-table.ts'
import { assertUsable, type KeyReuse } from './key-use.ts'

const CANCELLED = 'agent.key_recovery_cancelled'

/** A job that completes the recovery of an agent. Runs once, on any node. */
export async function completeDueRecovery(tx: Tx, job: JobRow, at: number): Promise<void> {
  const { tail, keyReuse } = JSON.parse(job.subject) as { tail: Tail; keyReuse: KeyReuse }
  await completeRecovery(tx, tail, keyReuse, at)
}

/**
 * Makes the new key of a recovery current, and lifts the suspension that a burned key has caused. If the new key cannot be used any
 * more, the recovery ends.
 * @param now milliseconds since 1970
 */
export async function completeRecovery(
  tx: Tx,
  tail: Tail,
  keyReuse: KeyReuse,
  now: number,
): Promise<void> {
  const recovery = await recoveryOf(tx.db, tail)
  const agent = await agentByTail(tx.db, tail)
  const newKey = recovery?.new_key ?? null
  if (recovery === undefined || agent === undefined || newKey === null) return
  const at = Math.max(now, currentSince(agent))
  if (!(await isUsable(tx, agent, newKey, keyReuse, at))) {
    await endRecovery(tx, tail, { type: CANCELLED, reason: 'key_taken' }, at)
    return
  }
  await deleteRecovery(tx, tail)
  const { reason } = recovery
  await changeAgent(tx, tail, { type: 'agent.key_recovered', newKey, reason }, at)
  await liftSuspension(tx, agent, at)
}

async function isUsable(
  tx: Tx,
  agent: AgentRow,
  newKey: Uint8Array,
  keyReuse: KeyReuse,
  at: number,
): Promise<boolean> {
  try {
    await assertUsable(tx, agent, newKey, keyReuse, at)
    return true
  } catch (error) {
    if (error instanceof CodedError) return false
    throw error
  }
}

/**
 * Reactivates an agent that is suspended because its key was burned, was lost or has renounced it, unless the operator has suspended
 * that key, or the owner.
 */
async function liftSuspension(tx: Tx, before: AgentRow, at: number): Promise<void> {
  const agent = await agentByTail(tx.db, before.tail)
  if (agent?.status !== 'suspended') return
  const isOfKey = [KEY_COMPROMISED, KEY_UNKNOWN_AFTER_RESTORE].includes(agent.status_reason ?? '')
  const isByKey = agent.status_set_by === 'service' && isOfKey
  if (!isByKey && before.renounce_final_at === null) return
  const hold = (await suspensionOfFormer(tx.db, agent)) ?? (await holdOf(tx.db, agent))
  if (hold === null) {
    await setStatus(tx, agent.tail, { to: 'active', reason: null, setBy: 'owner' }, at)
    return
  }
  const { reason, setBy } = hold
  await setStatus(tx, agent.tail, { to: 'suspended', reason, setBy }, at)
}

/**
 * The operator's suspension of a key that the agent had: it applies to the agent until the operator lifts it. A rotation needs an
 * active agent, so no suspension of a key before one concerns the agent.
 */
async function suspensionOfFormer(
  db: Db,
  agent: AgentRow,
): Promise<Pick<Hold, 'reason' | 'setBy'> | null> {
  const former = (await keysOfAgent(db, agent)).slice(0, -1)
  for (const { public_key: key, changed_by: changedBy } of former.toReversed()) {
    const suspension = await suspensionOfKey(db, key)
    if (suspension !== undefined) return { reason: suspension.reason, setBy: 'operator' }
    if (changedBy === 'rotation') return null
  }
  return null
}
