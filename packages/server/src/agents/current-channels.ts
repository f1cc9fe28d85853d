import type { Db } from '../core/database/database.ts'
import type { AgentView } from './agent-record.ts'
import { provenChannels } from './proven-channel-table.ts'
import { factsOfChannel } from './read-model/rows.ts'

/**
 * The same view with channels as the database has them now: a daily check that finds all well is no event, so that
 * the read model does not know its date. Where there are no channels, nothing is asked.
 */
export async function withCurrentChannels(db: Db, view: AgentView): Promise<AgentView> {
  const { agent, owner } = view
  if (agent.profile.channels.length === 0) return view
  const channels = (await provenChannels(db, agent.tail)).map(factsOfChannel)
  return { agent: { ...agent, profile: { ...agent.profile, channels } }, owner }
}
