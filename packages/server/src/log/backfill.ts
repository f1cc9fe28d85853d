import { canonicalJson } from '@countersign/protocol'
import type { AgentRow, Database, Tx } from '../database/database.ts'
import { currentEpoch, lastClaim, unloggedAgents, updateEpoch } from './log-table.ts'
import { appendEntries, type NewEntry, SEQUENCE_BATCH, type SequenceDeps } from './sequence.ts'

/**
 * Adds an entry for each agent that the log does not know, in the order of the claims: those from before the epoch began.
 * Changes wait until it has ended for the first time; then an entry says that the log is complete.
 * @param stopping ends it after the current batch; the next call goes on from there
 */
export async function backfill(
  deps: SequenceDeps & { readonly db: Pick<Database, 'write'> },
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    const count = await deps.db.write((tx) => backfillBatch(deps, tx))
    if (count < SEQUENCE_BATCH) return
  }
}

/** @returns how many agents it has added */
async function backfillBatch(deps: SequenceDeps, tx: Tx): Promise<number> {
  const epoch = await currentEpoch(tx.db)
  if (epoch === undefined) return 0
  const now = deps.now()
  const agents = await unloggedAgents(tx.db, epoch.epoch, epoch.backfilled_seq, SEQUENCE_BATCH)
  const isLast = agents.length < SEQUENCE_BATCH
  const isNowComplete = isLast && epoch.complete_index === null
  const size = epoch.size + agents.length
  const entries = agents.map((agent) => existing(agent, now))
  // A log that begins with its first agent is complete from the start, without an entry that says so.
  const marks = isNowComplete && size > 0 ? [complete(agents.length + epoch.size, now)] : []
  await appendEntries(deps, tx, epoch, [...entries, ...marks])
  // After the last batch, every agent has an entry, or one in the queue.
  const last = isLast ? await lastClaim(tx.db) : agents.at(-1)?.seq
  if (last !== undefined && last !== epoch.backfilled_seq) {
    await updateEpoch(tx, epoch.epoch, { backfilled_seq: last })
  }
  if (isNowComplete) {
    await updateEpoch(tx, epoch.epoch, { complete_index: size, complete_at: now })
  }
  return agents.length
}

function existing(agent: AgentRow, at: number): NewEntry {
  const { tail, status, grade, key_thumbprint, key_sequence: keySequence } = agent
  const key = Buffer.from(key_thumbprint).toString('base64url')
  const evidence = { agentId: agent.agent_id, claimedAt: agent.claimed_at }
  return {
    tail,
    claim: null,
    members: { type: 'existing', status, grade, key, keySequence, by: 'service', at },
    evidence: canonicalJson(evidence),
  }
}

function complete(agents: number, at: number): NewEntry {
  return { tail: null, claim: null, members: { type: 'complete', agents, at }, evidence: null }
}
