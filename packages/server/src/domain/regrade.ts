import { type Grade, gradeOf } from '@countersign/protocol'
import { agentByTail, setGrade } from '../storage/agents.ts'
import { provenChannels } from '../storage/channels.ts'
import type { AgentRow, Db, Tx } from '../storage/database.ts'
import { appendEvent } from '../storage/events.ts'
import { verificationsOfOwner } from '../storage/identity-verifications.ts'
import { factsOfChannel, factsOfVerification } from './read-model/rows.ts'

/**
 * Tells of the grade of an agent where it is no longer the one that was told last. Called in the transaction of
 * whatever may have changed it, after it was written.
 */
export async function regrade(tx: Tx, tail: string, at: number): Promise<void> {
  const agent = await agentByTail(tx.db, tail)
  if (agent === undefined) return
  const { grade: from, owner_id: ownerId } = agent
  const to = await gradeNow(tx.db, agent, at)
  if (from === to) return
  const seq = tx.nextSeq()
  await setGrade(tx, tail, { grade: to, version: seq })
  const facts = { from, to }
  await appendEvent(tx, { seq, at, type: 'agent.grade_changed', tail, ownerId, facts })
}

/** The grade that the database's rows make at a moment. */
export async function gradeNow(
  db: Db,
  { tail, status, owner_id }: Pick<AgentRow, 'tail' | 'status' | 'owner_id'>,
  now: number,
): Promise<Grade> {
  if (status !== 'active') return 'E'
  const verifications = (await verificationsOfOwner(db, owner_id)).map(factsOfVerification)
  const channels = (await provenChannels(db, tail)).map(factsOfChannel)
  return gradeOf({ status, verifications, channels, now }).grade
}
