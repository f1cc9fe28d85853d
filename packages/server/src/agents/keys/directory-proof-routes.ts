import {
  type DirectoryProof,
  type DirectoryProofRequest,
  directoryProofRequestSchema,
  directoryProofSchema,
  errorSchema,
  type Naming,
} from '@countersign/protocol'
import type { App } from '../../http/server.ts'
import { ownAgentParam } from '../find-agent.ts'

export interface DirectoryProofRouteDeps {
  readonly naming: Naming
  readonly proveDirectory: (
    reference: string,
    request: DirectoryProofRequest,
  ) => Promise<DirectoryProof>
}

/** The route by which an agent signs its own key set. No CORS: agents call it, not web pages. */
export function directoryProofRoute(
  app: App,
  { naming, proveDirectory }: DirectoryProofRouteDeps,
): void {
  app.put('/api/v1/agent/:agent/directory-proof', {
    schema: {
      operationId: 'proveDirectory',
      summary: "Store the agent's signature of its key set",
      tags: ['claim'],
      params: ownAgentParam(),
      body: directoryProofRequestSchema(),
      response: { 200: directoryProofSchema(naming), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return proveDirectory(request.params.agent, request.body)
    },
  })
}
