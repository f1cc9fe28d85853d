import type { ChannelEvidence } from '@countersign/protocol'
import type { Db } from '../database/database.ts'
import { agentsOfOwner } from './agent-table.ts'
import { provenChannelsOfActive } from './proven-channel-table.ts'
import { evidenceOfChannel } from './read-model/rows.ts'

/** The proven channels of each of an owner's active agents, oldest claim first. */
export async function channelsOfActiveAgents(
  db: Db,
  ownerId: number,
): Promise<ChannelEvidence[][]> {
  const byTail = Map.groupBy(await provenChannelsOfActive(db, ownerId), (each) => each.tail)
  return (await agentsOfOwner(db, ownerId))
    .filter((each) => each.status === 'active')
    .map((each) => (byTail.get(each.tail) ?? []).map(evidenceOfChannel))
}
