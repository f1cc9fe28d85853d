import { Type } from 'typebox'

/** The URL of one of the signed-in owner's agents. */
export const OWN_AGENT = '/api/account/agents/:agent'

/** The schema of the URL's path parameter. */
export function ownAgentParam() {
  return Type.Object({
    agent: Type.String({ description: 'a DID, or its 24-character tail' }),
  })
}
