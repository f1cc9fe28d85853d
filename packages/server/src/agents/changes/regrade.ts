import { type Grade, gradeOf, type VerificationFact } from '@countersign/protocol'
import { factsOfVerification, verificationsOfOwner } from '../../accounts/verification-table.ts'
import type { AgentRow, Db, Tx } from '../../database/database.ts'
import { appendEvent } from '../../database/event-table.ts'
import { agentByTail, setGrade } from '../agent-table.ts'
import { provenChannels } from '../proven-channel-table.ts'
import { factsOfChannel } from '../read-model/rows.ts'
import { logChange } from './log-change.ts'
import { reviseEntry } from './revise-status-entry.ts'
import { currentEntry } from './status-entry-table.ts'

/** An agent with the grade that was last recorded for it. */
export type GradedAgent = Pick<AgentRow, 'tail' | 'status' | 'key_sequence' | 'owner_id' | 'grade'>

/**
 * Recomputes the grade of an agent and records it if it changed, and updates the status of its certificates. Call it in the
 * transaction of the change that may affect either, after that change was written.
 * @param at the time of the change, in milliseconds since 1970
 * @param isSpread the grades of other agents of the owner change at this moment (`LoggedChange`)
 */
export async function regrade(tx: Tx, tail: string, at: number, isSpread = false): Promise<void> {
  const agent = await agentByTail(tx.db, tail)
  if (agent !== undefined) await regradeAgent(tx, agent, at, isSpread)
}

/** Like `regrade`, for an agent that was already read in this transaction. */
export async function regradeAgent(
  tx: Tx,
  agent: GradedAgent,
  at: number,
  isSpread = false,
): Promise<void> {
  const evidence = await evidenceNow(tx.db, agent, at)
  await recordGrade(tx, agent, evidence.grade, at, isSpread)
  await reviseEntry(tx, await currentEntry(tx.db, agent.tail), agent, evidence, at)
}

/**
 * Stores a grade and appends `agent.grade_changed`, unless it equals the last recorded grade.
 * @param isSpread see `regrade`
 */
export async function recordGrade(
  tx: Tx,
  agent: GradedAgent,
  to: Grade,
  at: number,
  isSpread = false,
): Promise<void> {
  const { tail, owner_id: ownerId, grade: from, status } = agent
  if (from === to) return
  const seq = tx.nextSeq()
  await setGrade(tx, { tail, grade: to, version: seq })
  const payload = { from, to }
  await appendEvent(tx, { seq, at, type: 'agent.grade_changed', tail, ownerId, payload })
  // The grade of an agent that is not active follows from its status, which has an entry.
  if (status !== 'active') return
  const change = { type: 'grade', grade: to } as const
  await logChange(tx, tail, { seq, at, by: 'service', change, evidence: payload, isSpread })
}

/**
 * Reads the evidence for an agent's grade from the database, and computes the grade.
 * @param now milliseconds since 1970
 */
export async function evidenceNow(
  db: Db,
  { tail, status, owner_id }: Pick<AgentRow, 'tail' | 'status' | 'owner_id'>,
  now: number,
): Promise<{ readonly grade: Grade; readonly verifications: readonly VerificationFact[] }> {
  // Needs no query, which matters when an account with many agents is deleted.
  if (status !== 'active') return { grade: 'E', verifications: [] }
  const verifications = (await verificationsOfOwner(db, owner_id)).map(factsOfVerification)
  const channels = (await provenChannels(db, tail)).map(factsOfChannel)
  return { grade: gradeOf({ status, verifications, channels, now }).grade, verifications }
}
