import { gradeAnswerSchema } from '@countersign/protocol'
import { CACHE_30_SECONDS } from '../http/caching.ts'
import { agentParam, publicRead } from '../http/public-read.ts'
import type { App } from '../http/server.ts'
import { withCurrentChannels } from './current-channels.ts'
import { findAgent, type PageReadDeps } from './find-agent.ts'
import { gradeAnswerOf } from './grade.ts'

/** The grade of an agent with its evidence (docs/contract/resources.md). */
export function gradeRoute(app: App, deps: PageReadDeps): void {
  publicRead(app, deps.site.naming, {
    url: '/api/agents/:agent/grade',
    cacheControl: CACHE_30_SECONDS,
    schema: {
      operationId: 'grade',
      summary: 'Get the grade of an agent, its evidence and the next step',
      tags: ['check'],
      params: agentParam('agent'),
      response: { 200: gradeAnswerSchema(deps.site.naming) },
    },
    handler: async (params: { agent: string }) => {
      const view = await withCurrentChannels(deps.db, await findAgent(deps, params.agent))
      return gradeAnswerOf(deps.site, view, deps.now())
    },
  })
}
