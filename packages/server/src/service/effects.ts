import { regradeOwner } from '../agents/changes/regrade-owner.ts'
import { recoveryOfChangedAgent } from '../agents/keys/end-recovery.ts'
import { renouncingOfChangedAgent } from '../agents/keys/renounce.ts'
import { channelsOfChangedAgent } from '../channels/channel-lifecycle.ts'
import type { Effects } from '../database/database.ts'

/** The only list of what follows from a change in other rooms, in this order. */
export const EFFECTS: Effects = {
  agentChanged: [channelsOfChangedAgent, renouncingOfChangedAgent, recoveryOfChangedAgent],
  verificationsChanged: [regradeOwner],
  membershipEnded: [],
}
