import { type Grade, gradeOf } from '@countersign/protocol'
import type { AgentRow, Db, Tx } from '../core/database/database.ts'
import { appendEvent } from '../core/database/event-table.ts'
import { agentByTail, setGrade } from './agent-table.ts'
import { provenChannels } from './proven-channel-table.ts'
import { factsOfChannel, factsOfVerification } from './read-model/rows.ts'
import { verificationsOfOwner } from './verification-table.ts'

/** An agent, and the grade that was told of it last. */
export type GradedAgent = Pick<AgentRow, 'tail' | 'status' | 'owner_id' | 'grade'>

/**
 * Tells of the grade of an agent where it is no longer the one that was told last. Called in the transaction of
 * whatever may have changed it, after it was written.
 */
export async function regrade(tx: Tx, tail: string, at: number): Promise<void> {
  const agent = await agentByTail(tx.db, tail)
  if (agent !== undefined) await regradeAgent(tx, agent, at)
}

/** The same, where the agent is known as it stands in this transaction. */
export async function regradeAgent(tx: Tx, agent: GradedAgent, at: number): Promise<void> {
  await tellOfGrade(tx, agent, await gradeNow(tx.db, agent, at), at)
}

/** Tells of a grade, if it is another than the one that was told last. */
export async function tellOfGrade(
  tx: Tx,
  { tail, owner_id: ownerId, grade: from }: GradedAgent,
  to: Grade,
  at: number,
): Promise<void> {
  if (from === to) return
  const seq = tx.nextSeq()
  await setGrade(tx, { tail, grade: to, version: seq })
  const payload = { from, to }
  await appendEvent(tx, { seq, at, type: 'agent.grade_changed', tail, ownerId, payload })
}

/** The grade that the database's rows make at a moment. */
async function gradeNow(
  db: Db,
  { tail, status, owner_id }: GradedAgent,
  now: number,
): Promise<Grade> {
  // An account of many agents ends without a question about each.
  if (status !== 'active') return 'E'
  const verifications = (await verificationsOfOwner(db, owner_id)).map(factsOfVerification)
  const channels = (await provenChannels(db, tail)).map(factsOfChannel)
  return gradeOf({ status, verifications, channels, now }).grade
}
