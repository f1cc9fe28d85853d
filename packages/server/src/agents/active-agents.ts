import type { ChannelEvidence } from '@countersign/protocol'
import type { Db } from '../database/database.ts'
import { agentsOfOwner } from './agent-table.ts'
import { countByResponsible } from './manage/own-agent-table.ts'
import { provenChannelsOfActive } from './proven-channel-table.ts'
import { evidenceOfChannel } from './read-model/rows.ts'

/** For how many agents of an organisation that are not revoked each member is responsible, by membership. */
export async function agentsByResponsible(
  db: Db,
  orgId: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await countByResponsible(db, orgId)
  return new Map(rows.map(({ responsible, count }) => [responsible, count]))
}

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
