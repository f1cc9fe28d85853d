import { gradeOf } from '@countersign/protocol'
import type { AgentRow, JobRow, Tx } from '../core/database/database.ts'
import { cancelJob, scheduleJob } from '../core/jobs/job-table.ts'
import { activeAgentsAfter } from './agent-table.ts'
import { provenChannelsOf } from './proven-channel-table.ts'
import { factsOfChannel, factsOfVerification } from './read-model/rows.ts'
import { tellOfGrade } from './regrade.ts'
import { verificationsOfOwner } from './verification-table.ts'

export const REGRADE_OWNER = 'regrade-owner'

/** An owner may have a hundred thousand agents, and no transaction should hold the others up for long. */
const AGENTS_AT_ONCE = 200

/**
 * Tells of the grades that have changed with an owner's verifications: of the first agents in the same transaction, of
 * the rest by a job that is due at once. What was on its way for the same owner begins again.
 * @param after goes on after the agent with this number
 */
export async function regradeOwner(tx: Tx, ownerId: number, at: number, after = 0): Promise<void> {
  const agents = await activeAgentsAfter(tx.db, ownerId, after, AGENTS_AT_ONCE)
  await regradeAgents(tx, ownerId, agents, at)
  const last = agents.at(-1)
  if (last === undefined || agents.length < AGENTS_AT_ONCE) return cancelRegrade(tx, ownerId)
  const subject = JSON.stringify({ ownerId, after: last.seq })
  await scheduleJob(tx, { id: idOf(ownerId), kind: REGRADE_OWNER, subject, run_at: at })
}

/** Goes on with what `regradeOwner` has begun. */
export async function goOnRegrading(tx: Tx, { subject }: JobRow, at: number): Promise<void> {
  const { ownerId, after } = JSON.parse(subject) as { ownerId: number; after: number }
  await regradeOwner(tx, ownerId, at, after)
}

/** Where no active agent is left, there is nothing to go on with. */
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
  const verifications = (await verificationsOfOwner(tx.db, ownerId)).map(factsOfVerification)
  const rows = await provenChannelsOf(
    tx.db,
    agents.map(({ tail }) => tail),
  )
  const channelsOf = Map.groupBy(rows, ({ tail }) => tail)
  for (const agent of agents) {
    const channels = (channelsOf.get(agent.tail) ?? []).map(factsOfChannel)
    const { grade } = gradeOf({ status: agent.status, verifications, channels, now: at })
    await tellOfGrade(tx, agent, grade, at)
  }
}
