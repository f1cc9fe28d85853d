import {
  CodedError,
  jwkOf,
  KEY_SET_TYPE,
  type KeySet,
  keySetSchema,
  keyThumbprint,
  parseDidOrTail,
} from '@countersign/protocol'
import { Type } from 'typebox'
import { CACHE_ONE_MINUTE } from '../core/http/caching.ts'
import { publicRead } from '../core/http/public-read.ts'
import type { App } from '../core/http/server.ts'
import type { AgentRecord } from './agent-record.ts'
import { findOrThrow, type ReadDeps } from './find-agent.ts'

/** The key with which an agent signs requests, at the address that it sends as `Signature-Agent` (Web Bot Auth). */
export function keySetRoute(app: App, deps: ReadDeps): void {
  publicRead(app, deps.site.naming, {
    url: '/agent/:agent/jwks.json',
    cacheControl: CACHE_ONE_MINUTE,
    schema: {
      operationId: 'agentKeySet',
      summary: 'The key set for an agent’s signed requests',
      tags: ['resolve'],
      params: Type.Object({
        agent: Type.String({ description: 'a DID, or its 24-character tail' }),
      }),
      response: {
        200: {
          description: 'The key set',
          content: { [KEY_SET_TYPE]: { schema: keySetSchema() } },
        },
      },
    },
    handler: async (params: { agent: string }, reply) => {
      const tail = parseDidOrTail(deps.site.naming, params.agent)
      if (tail === null) {
        throw new CodedError(
          'VALIDATION_ERROR',
          'The URL must name a DID or its 24-character tail.',
        )
      }
      const { agent } = await findOrThrow(deps, { kind: 'tail', tail })
      // With a serializer of its own, because Fastify adds a charset to the media type otherwise, and some verifiers compare it as text.
      reply.type(KEY_SET_TYPE).serializer(JSON.stringify)
      return keySetOf(agent)
    },
  })
}

/** Verifiers discard their copy of a key only if they get a key set without it. After a 404 or 410 they continue to use it. */
function keySetOf({ status, publicKey }: AgentRecord): KeySet {
  if (status !== 'active') return { keys: [] }
  return { keys: [{ ...jwkOf(publicKey), kid: keyThumbprint(publicKey), use: 'sig' }] }
}
