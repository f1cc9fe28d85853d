import { gradeOf } from '@countersign/protocol'
import { evidenceOfVerification, verificationsOfOwner } from '../../accounts/verification-table.ts'
import type { AgentRow, JobRow, Tx } from '../../database/database.ts'
import { cancelJob, scheduleJob } from '../../database/jobs/job-table.ts'
import { activeAgentsAfter } from '../agent-table.ts'
import { provenChannelsOf } from '../proven-channel-table.ts'
import { evidenceOfChannel } from '../read-model/rows.ts'
import { changeAgent } from './change-agent.ts'
import { reviseEntries } from './revise-status-entry.ts'
import { currentEntriesOf, delegationEntriesOf } from './status-entry-table.ts'

export const REGRADE_OWNER = 'regrade-owner'

/** Limits how long one transaction blocks other writers: an owner may have a hundred thousand agents. */
const BATCH_SIZE = 200

/**
 * Recomputes the grades of an owner's agents after their verifications changed, and the status of the agents' certificates. The first batch runs in this transaction,
 * and a job that is due at once continues with the rest. A new call restarts a regrade in progress for the same owner.
 * @param at the time of the change, in milliseconds since 1970
 * @param after starts after the agent with this `seq`
 */
export async function regradeOwner(tx: Tx, ownerId: number, at: number, after = 0): Promise<void> {
  const agents = await activeAgentsAfter(tx.db, ownerId, after, BATCH_SIZE)
  await regradeAgents(tx, ownerId, agents, at)
  const last = agents.at(-1)
  if (last === undefined || agents.length < BATCH_SIZE) return cancelRegrade(tx, ownerId)
  const subject = JSON.stringify({ ownerId, after: last.seq })
  await scheduleJob(tx, { id: idOf(ownerId), kind: REGRADE_OWNER, subject, run_at: at })
}

/** Job handler: continues what `regradeOwner` has started. */
export async function continueRegrade(tx: Tx, { subject }: JobRow, at: number): Promise<void> {
  const { ownerId, after } = JSON.parse(subject) as { ownerId: number; after: number }
  await regradeOwner(tx, ownerId, at, after)
}

/** Deletes an owner's regrade job, if any. */
export function cancelRegrade(tx: Tx, ownerId: number): Promise<void> {
  return cancelJob(tx, idOf(ownerId))
}

function idOf(ownerId: number): string {
  return `${REGRADE_OWNER}:${ownerId}`
}

async function regradeAgents(
  tx: Tx,
  ownerId: number,
  agents: readonly AgentRow[],
  at: number,
): Promise<void> {
  const verifications = (await verificationsOfOwner(tx.db, ownerId)).map(evidenceOfVerification)
  const tails = agents.map(({ tail }) => tail)
  const rows = await provenChannelsOf(tx.db, tails)
  const channelsOf = Map.groupBy(rows, ({ tail }) => tail)
  const entries = await currentEntriesOf(tx.db, tails)
  const entryOf = new Map(entries.map((entry) => [entry.tail, entry]))
  const groups = Map.groupBy(await delegationEntriesOf(tx.db, tails), ({ tail }) => tail)
  for (const agent of agents) {
    const channels = (channelsOf.get(agent.tail) ?? []).map(evidenceOfChannel)
    const { grade } = gradeOf({ status: agent.status, verifications, channels, now: at })
    if (grade !== agent.grade) {
      const change = { type: 'agent.grade_changed', to: grade, delay: 'spread' } as const
      await changeAgent(tx, agent.tail, change, at)
    }
    const { tail } = agent
    const inUse = { current: entryOf.get(tail), delegated: groups.get(tail) ?? [] }
    await reviseEntries(tx, inUse, agent, { grade, verifications }, at)
  }
}
