import { randomInt } from 'node:crypto'
import {
  type AgentChange,
  canonicalJson,
  type JsonValue,
  type LogActor,
} from '@countersign/protocol'
import type { AgentRow, Tx } from '../../database/database.ts'
import type { LogQueueRow } from '../../database/schema/log-rows.ts'
import { agentByTail } from '../agent-table.ts'
import { insertQueued, takeQueuedGrade } from './log-queue-table.ts'

/** Entries that follow from a change of the owner are spread over this time, so that they do not link the owner's agents. */
export const SPREAD_MS = 15 * 60 * 1000

/** A change of an agent's certificate, for the transparency log. */
export interface LoggedChange {
  /** The number of its event. */
  readonly seq: number
  /** Milliseconds since the Unix epoch. */
  readonly at: number
  readonly by: LogActor
  readonly change: AgentChange
  /** What the entry commits to: whatever a later dispute needs. Only the owner can download it. */
  readonly evidence: JsonValue
  /** It follows from a change of the owner, and other agents have the same entry at this moment. */
  readonly isSpread?: boolean
}

/** What an entry says of its agent. */
type LoggedAgent = Pick<AgentRow, 'tail' | 'owner_id' | 'key_sequence' | 'key_thumbprint'>

/**
 * Queues the entry of a change within the transaction of the change, so that neither exists without the other. Its place in the
 * log is assigned later (`log/sequence.ts`), so that changes do not wait for each other.
 * The entry has the agent's key after the change, so call it after the change was written.
 */
export async function logChange(tx: Tx, tail: string, logged: LoggedChange): Promise<void> {
  const agent = await agentByTail(tx.db, tail)
  if (agent === undefined)
    throw new Error(`there is no agent ${tail}, whose change is to be logged`)
  const row = queuedRow(agent, logged)
  if (row.type !== 'grade') return insertQueued(tx, row)
  // A grade that has not been logged yet is replaced: the log says what the grade is, not how often it changed.
  const due = await takeQueuedGrade(tx, tail)
  const notBefore = due === null ? row.not_before : Math.min(due, row.not_before)
  await insertQueued(tx, { ...row, not_before: notBefore })
}

/** The row of the queue for a change. */
export function queuedRow(
  { tail, owner_id, key_sequence, key_thumbprint }: LoggedAgent,
  { seq, at, by, change, evidence, isSpread }: LoggedChange,
): LogQueueRow {
  const key = Buffer.from(key_thumbprint).toString('base64url')
  return {
    seq,
    tail,
    owner_id,
    type: change.type,
    entry: JSON.stringify({ ...change, key, keySequence: key_sequence, by, at }),
    evidence: canonicalJson(evidence),
    not_before: isSpread === true ? at + 1 + randomInt(SPREAD_MS) : 0,
  }
}
