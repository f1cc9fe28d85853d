import { toSvg } from 'jdenticon'
import { findAgent, type ReadDeps } from '../../domain/find-agent.ts'
import { didOfAgent } from '../../domain/site.ts'
import type { App } from '../bare-app.ts'
import { BRIEFLY } from '../caching.ts'
import { agentParam, publicRead } from '../public-read.ts'

const SIZE = 256

/** A picture drawn from the DID, for agents whose owner has given them none. */
export function avatarRoute(app: App, deps: ReadDeps): void {
  publicRead(app, deps.site.naming, {
    url: '/api/agents/:agent/avatar.svg',
    cacheControl: BRIEFLY,
    schema: {
      operationId: 'avatar',
      summary: 'The picture of an agent',
      tags: ['show'],
      params: agentParam('agent'),
      response: {
        200: {
          description: 'An SVG',
          content: { 'image/svg+xml': { schema: { type: 'string' } } },
        },
      },
    },
    handler: async (params: { agent: string }, reply) => {
      const { agent } = await findAgent(deps, params.agent)
      reply.type('image/svg+xml').serializer((svg: string) => svg)
      return toSvg(didOfAgent(deps.site, agent.tail), SIZE)
    },
  })
}
