import { agentByTail, touchAgent } from '../agents/agent-table.ts'
import { deleteRecovery } from '../agents/key-recovery-table.ts'
import type { AgentRow, Tx } from '../core/database/database.ts'
import { appendEvent, type EventType } from '../core/database/event-table.ts'
import { appendNotification } from '../core/database/notification-table.ts'
import { cancelJob } from '../core/jobs/job-table.ts'

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
  { type = 'agent.key_recovery_cancelled', reason }: RecoveryEnd,
  at: number,
): Promise<boolean> {
  if (!(await deleteRecovery(tx, tail))) return false
  await cancelJob(tx, recoveryJobOf(tail))
  await appendAgentEvent(tx, { tail, ownerId, at, type, payload: { reason } })
  return true
}

/** Appends an event about the key of an agent, stores its number as the agent's version, and notifies the owner. */
export async function appendAgentEvent(
  tx: Tx,
  event: {
    readonly tail: string
    readonly ownerId: number
    readonly at: number
    readonly type: EventType
    readonly payload: Readonly<Record<string, unknown>>
  },
): Promise<void> {
  const seq = tx.nextSeq()
  await touchAgent(tx, event.tail, { at: event.at, version: seq })
  await appendEvent(tx, { seq, ...event })
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
