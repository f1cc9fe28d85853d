import { errorSchema } from '@countersign/protocol'
import { findAgent, type ReadDeps } from '../../domain/find-agent.ts'
import { didOfAgent } from '../../domain/site.ts'
import type { App } from '../bare-app.ts'
import { agentParam } from '../public-read.ts'

/** Where `verifyUrl` and `certificateUrl` lead: for now to the agent object, which says all that a page would. */
export function certificateRoute(app: App, deps: ReadDeps): void {
  app.get('/agent/:agent', {
    schema: {
      operationId: 'certificate',
      summary: 'The public certificate of an agent',
      tags: ['show'],
      params: agentParam('agent'),
      response: {
        303: { type: 'null', description: 'Leads to the agent object' },
        '4xx': errorSchema(),
        '5xx': errorSchema(),
      },
    },
    handler: async (request, reply) => {
      const { agent } = await findAgent(deps, request.params.agent as string)
      return reply.redirect(`/api/agents/${didOfAgent(deps.site, agent.tail)}`, 303)
    },
  })
}
