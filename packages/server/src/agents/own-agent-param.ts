import { Type } from 'typebox'

/** The address of one of the owner's agents. */
export const OWN_AGENT = '/api/account/agents/:agent'

/** What stands for the agent in it. */
export function ownAgentParam() {
  return Type.Object({
    agent: Type.String({ description: 'a DID, or its 24-character tail' }),
  })
}
