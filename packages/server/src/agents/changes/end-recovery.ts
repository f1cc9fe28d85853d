import type { JsonValue } from '@countersign/protocol'
import { appendNotification } from '../../accounts/notifications/notify-owner.ts'
import type { AgentRow, Tx } from '../../database/database.ts'
import { appendEvent, type EventType } from '../../database/event-table.ts'
import { cancelJob } from '../../database/jobs/job-table.ts'
import { agentByTail, touchAgent } from '../agent-table.ts'
import { deleteRecovery } from '../keys/key-recovery-table.ts'
import { type LoggedChange, logChange } from './log-change.ts'

/** The kind of job that makes the new key of a recovery current. */
export const COMPLETE_RECOVERY = 'complete-recovery'

/** The id of the job of an agent. */
export function recoveryJobOf(tail: string): string {
  return `${COMPLETE_RECOVERY}:${tail}`
}

/** Why a recovery has ended without a new key. */
export interface RecoveryEnd {
  readonly type?: 'agent.key_recovery_vetoed' | 'agent.key_recovery_cancelled'
  /** `owner`: they cancelled it. `rotated`: the old key was rotated. The others say what became of the agent or the new key. */
  readonly reason:
    | 'owner'
    | 'veto'
    | 'rotated'
    | 'contested'
    | 'revoked'
    | 'key_compromised'
    | 'key_taken'
  /** What the transparency log commits to: the signature of a veto. */
  readonly evidence?: JsonValue
}

/**
 * Ends the pending recovery of an agent, if any, within the caller's transaction. A burned key stays burned, and a suspended agent
 * suspended.
 * @param at milliseconds since the Unix epoch
 * @returns whether there was one
 */
export async function endRecovery(
  tx: Tx,
  { tail, owner_id: ownerId }: Pick<AgentRow, 'tail' | 'owner_id'>,
  { type = 'agent.key_recovery_cancelled', reason, evidence = null }: RecoveryEnd,
  at: number,
): Promise<boolean> {
  if (!(await deleteRecovery(tx, tail))) return false
  await cancelJob(tx, recoveryJobOf(tail))
  await appendAgentEvent(tx, { tail, ownerId, at, type, payload: { reason }, evidence })
  return true
}

/** The events about keys that the transparency log has entries of, besides those that replace a key, and who causes them. */
const LOGGED: Readonly<Partial<Record<EventType, Pick<LoggedChange, 'by' | 'change'>>>> = {
  'agent.key_recovery_started': { by: 'owner', change: { type: 'key_recovery_started' } },
  'agent.key_recovery_vetoed': { by: 'agent', change: { type: 'key_recovery_vetoed' } },
  'agent.key_contested': { by: 'owner', change: { type: 'key_contested' } },
}

/**
 * Appends an event about the key of an agent with its entry for the transparency log, stores its number as the agent's version,
 * and notifies the owner.
 */
export async function appendAgentEvent(
  tx: Tx,
  event: {
    readonly tail: string
    readonly ownerId: number
    readonly at: number
    readonly type: EventType
    readonly payload: Readonly<Record<string, JsonValue>>
    readonly evidence?: JsonValue
  },
): Promise<void> {
  const seq = tx.nextSeq()
  const { evidence = null, ...recorded } = event
  const { tail, at, type, payload } = event
  await touchAgent(tx, tail, { at, version: seq })
  await appendEvent(tx, { seq, ...recorded })
  const logged = LOGGED[type]
  if (logged !== undefined) {
    await logChange(tx, tail, { seq, at, ...logged, evidence: { ...payload, evidence } })
  }
  const agent = await agentByTail(tx.db, event.tail)
  if (agent !== undefined) await notifyOfKeyChange(tx, agent, { seq, ...event })
}

/** Notifies an owner that the key of an agent changed, or of a step of its recovery. */
export async function notifyOfKeyChange(
  tx: Tx,
  { tail, owner_id: ownerId, agent_id: agentId }: Pick<AgentRow, 'tail' | 'owner_id' | 'agent_id'>,
  event: {
    readonly seq: number
    readonly at: number
    readonly type: EventType
    readonly payload: Readonly<Record<string, unknown>>
  },
): Promise<void> {
  await appendNotification(tx, {
    ownerId,
    kind: 'agent_key_changed',
    subject: `${tail}:${event.seq}`,
    details: { tail, agentId, event: event.type, reason: reasonOf(event.payload) },
    at: event.at,
  })
}

function reasonOf({ reason }: Readonly<Record<string, unknown>>): string | null {
  return typeof reason === 'string' ? reason : null
}
