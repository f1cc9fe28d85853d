import type { Db } from '../database/database.ts'
import type { AgentView } from './agent-record.ts'
import { provenChannels } from './proven-channel-table.ts'
import { evidenceOfChannel } from './read-model/rows.ts'

/**
 * The view with its channels read from the database. A successful daily check writes no event, so the dates of checks in
 * the read model may be old. An agent without channels costs no query.
 */
export async function withCurrentChannels(db: Db, view: AgentView): Promise<AgentView> {
  const { agent, owner } = view
  if (agent.profile.channels.length === 0) return view
  const channels = (await provenChannels(db, agent.tail)).map(evidenceOfChannel)
  return { agent: { ...agent, profile: { ...agent.profile, channels } }, owner }
}
