import { keySetSchema } from '@countersign/protocol'
import { Type } from 'typebox'
import { findAgentByTail, type PageReadDeps } from '../agents/find-agent.ts'
import { publicJwkOf } from '../agents/keys/key-set-routes.ts'
import { CACHE_ONE_MINUTE } from '../http/caching.ts'
import { publicRead } from '../http/public-read.ts'
import type { App } from '../http/server.ts'
import { type CardKeyDeps, countersigningKeysOf } from './countersign-card.ts'

export interface CardKeySetDeps extends PageReadDeps, CardKeyDeps {}

/**
 * The keys with which this service countersigns the cards of an agent: one for each verified agent-to-agent channel. They are in no other key
 * set. Without such a channel, and for an agent that is not active, the set is empty: verifiers go on using a key after a 404.
 */
export function cardKeySetRoute(app: App, deps: CardKeySetDeps): void {
  publicRead(app, deps.site.naming, {
    url: '/agent/:agent/a2a-jwks.json',
    cacheControl: CACHE_ONE_MINUTE,
    schema: {
      operationId: 'agentCardKeySet',
      summary: 'Get the keys that countersign the agent cards of an agent',
      tags: ['resolve'],
      params: Type.Object({
        agent: Type.String({ description: 'the 24-character tail of a DID' }),
      }),
      response: {
        200: keySetSchema(
          'A key for each verified agent-to-agent channel of an active agent; otherwise empty',
        ),
      },
    },
    handler: async (params: { agent: string }) => {
      const { agent } = await findAgentByTail(deps, params.agent)
      const keys = agent.status === 'active' ? await countersigningKeysOf(deps, agent.tail) : []
      return { keys: keys.map((each) => publicJwkOf(each.publicKey)) }
    },
  })
}
