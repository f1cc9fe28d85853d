import { Type } from 'typebox'
import { OWN_AGENT, ownAgentParam } from '../agents/own-agent-param.ts'

export const AGENT_CHANNELS = `${OWN_AGENT}/channels` as const

/** The address of a channel of one of the owner's agents. */
export const OWN_CHANNEL = `${AGENT_CHANNELS}/:channel` as const

/** What stands for the agent and the channel in it. */
export function ownChannelParams() {
  return Type.Object({
    ...ownAgentParam().properties,
    channel: Type.String({ maxLength: 64, description: 'the id of a channel' }),
  })
}
