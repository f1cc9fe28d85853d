import { setImmediate as nextTurn } from 'node:timers/promises'
import { agentsAfter, countAgents } from '../../storage/agents.ts'
import { type ProvenChannelRow, provenChannelsAfter } from '../../storage/channels.ts'
import type { Db } from '../../storage/database.ts'
import { verificationsBetween } from '../../storage/identity-verifications.ts'
import { ownersAfter } from '../../storage/owners.ts'
import type { OwnerFacts } from '../agent-record.ts'
import type { AgentIndex } from './agent-index.ts'
import { ownerFactsOf, recordOf } from './rows.ts'

const PAGE = 5000

/**
 * Loads everything, a page a turn of the event loop, so that requests are answered meanwhile.
 * @returns whether everything fitted
 */
export async function loadAll(
  db: Db,
  agents: AgentIndex,
  limit: number,
  keep: (owner: OwnerFacts) => void,
): Promise<boolean> {
  const count = await countAgents(db)
  if (count > limit) return false
  agents.reserve(Math.ceil(count * 1.1))
  await loadOwners(db, keep)
  await loadAgents(db, agents, await loadChannels(db))
  return !agents.overflowed
}

async function loadOwners(db: Db, keep: (owner: OwnerFacts) => void): Promise<void> {
  for (let after = 0; ; ) {
    const owners = await ownersAfter(db, after, PAGE)
    const last = owners.at(-1)
    if (last === undefined) return
    const verifications = await verificationsBetween(db, after + 1, last.id)
    const byOwner = Map.groupBy(verifications, (each) => each.owner_id)
    for (const owner of owners) keep(ownerFactsOf(owner, byOwner.get(owner.id) ?? []))
    after = last.id
    await nextTurn()
  }
}

async function loadChannels(db: Db): Promise<Map<string, ProvenChannelRow[]>> {
  const channels = new Map<string, ProvenChannelRow[]>()
  for (let after = ''; ; ) {
    const page = await provenChannelsAfter(db, after, PAGE)
    const last = page.at(-1)
    if (last === undefined) {
      for (const each of channels.values()) each.sort(byProof)
      return channels
    }
    for (const channel of page) {
      const others = channels.get(channel.tail)
      if (others === undefined) channels.set(channel.tail, [channel])
      else others.push(channel)
    }
    after = last.id
    await nextTurn()
  }
}

/** In the order in which one agent's are read. */
function byProof(a: ProvenChannelRow, b: ProvenChannelRow): number {
  return a.verified_at - b.verified_at || (a.id < b.id ? -1 : 1)
}

async function loadAgents(
  db: Db,
  agents: AgentIndex,
  channels: ReadonlyMap<string, ProvenChannelRow[]>,
): Promise<void> {
  for (let after = 0; ; ) {
    const page = await agentsAfter(db, after, PAGE)
    const last = page.at(-1)
    if (last === undefined || agents.overflowed) return
    for (const row of page) agents.upsert(recordOf(row, channels.get(row.tail) ?? []))
    after = last.seq
    await nextTurn()
  }
}
