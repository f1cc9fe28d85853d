import { availableParallelism } from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Tail } from '@countersign/protocol'
import { publicOwnersAfter } from '../../accounts/owner-table.ts'
import { verificationsBetween } from '../../accounts/verification-table.ts'
import type { Db } from '../../database/database.ts'
import type { OwnerRecord } from '../agent-record.ts'
import { countAgents } from '../agent-table.ts'
import { provenChannelsAfter } from '../proven-channel-table.ts'
import type { AgentIndex } from './agent-index.ts'
import { agentPages, agentPagesOfFile } from './agent-pages.ts'
import { loadRecords, ownerRecordOf, recordOf } from './rows.ts'

/** Small enough that requests wait only a few milliseconds meanwhile. */
const PAGE_SIZE = 500
/** Extra capacity for agents that are claimed later. */
const HEADROOM = 1.1
/** Fewer are read in less time than a thread needs to start. */
export const MIN_FOR_THREAD = 50_000

/** What `loadAll` reads from. */
export interface LoadSource {
  readonly db: Db
  /** The same database, if it is a SQLite file: another thread then reads many agents. Null: PostgreSQL, or this thread reads. */
  readonly file: string | null
}

/**
 * Loads all owners and agents, one page per turn of the event loop so that requests are answered meanwhile.
 * @param agents what it has is kept, since events may be newer than a page
 * @returns false if there are more than `limit` agents
 */
export async function loadAll(
  { db, file }: LoadSource,
  agents: AgentIndex,
  limit: number,
  addOwner: (owner: OwnerRecord) => void,
): Promise<boolean> {
  const count = await countAgents(db)
  if (count > limit) return false
  agents.reserve(Math.ceil(count * HEADROOM))
  await using resources = new AsyncDisposableStack()
  const mayPay = count >= MIN_FOR_THREAD && availableParallelism() > 1
  const pages = file !== null && mayPay ? agentPagesOfFile(file, resources) : agentPages(db)
  await loadOwners(db, addOwner)
  await loadAgentsWithChannels(db, agents)
  for await (const { unmodified, modified } of pages) {
    agents.insertMissing(unmodified)
    const missing = modified.filter(({ tail }) => agents.byTail(tail as Tail) === null)
    for (const row of missing) agents.upsert(recordOf(row, []))
    if (agents.overflowed) return false
    await nextTurn()
  }
  return !agents.overflowed
}

async function loadOwners(db: Db, addOwner: (owner: OwnerRecord) => void): Promise<void> {
  for (let after = 0; ; ) {
    const owners = await publicOwnersAfter(db, after, PAGE_SIZE)
    const last = owners.at(-1)
    if (last === undefined) return
    const verifications = await verificationsBetween(db, after + 1, last.id)
    const byOwner = Map.groupBy(verifications, (each) => each.owner_id)
    for (const owner of owners) addOwner(ownerRecordOf(owner, byOwner.get(owner.id) ?? []))
    after = last.id
    await nextTurn()
  }
}

/** They come first, so that no agent is ever in memory without its channels. */
async function loadAgentsWithChannels(db: Db, agents: AgentIndex): Promise<void> {
  for (let after = ''; ; ) {
    const channels = await provenChannelsAfter(db, after, PAGE_SIZE)
    const last = channels.at(-1)
    if (last === undefined) return
    const tails = new Set(channels.map(({ tail }) => tail))
    for (const agent of await loadRecords(db, [...tails])) agents.upsert(agent)
    after = last.id
    await nextTurn()
  }
}
