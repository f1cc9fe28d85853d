import {
  CodedError,
  type KeyHolders,
  keyHoldersSchema,
  parseThumbprint,
  type Tail,
} from '@countersign/protocol'
import { Type } from 'typebox'
import { didOfAgent, type Site } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { Database } from '../../database/database.ts'
import { CACHE_ONE_MINUTE } from '../../http/caching.ts'
import { publicRead } from '../../http/public-read.ts'
import type { App } from '../../http/server.ts'
import { agentsOfKey } from './agents-of-key.ts'
import { publicJwkOf } from './key-set-routes.ts'

interface AgentsOfKeyDeps {
  readonly db: Pick<Database, 'pointReads'>
  readonly site: Site
}

/** Which agents have the key that the `keyid` of a signature names. */
export function agentsOfKeyRoute(app: App, { db, site }: AgentsOfKeyDeps): void {
  publicRead(app, site.naming, {
    url: '/api/v1/keys/:thumbprint',
    cacheControl: CACHE_ONE_MINUTE,
    schema: {
      operationId: 'keyHolders',
      summary: 'List the agents that have a key, by its thumbprint',
      tags: ['resolve'],
      params: Type.Object({
        thumbprint: Type.String({
          description: 'the JWK thumbprint (RFC 7638, SHA-256) of the key: `keyid` of a signature',
        }),
      }),
      response: { 200: keyHoldersSchema(site.naming) },
    },
    handler: async (params: { thumbprint: string }): Promise<KeyHolders> => {
      const bytes = parseThumbprint(params.thumbprint)
      if (bytes === null) {
        throw new CodedError(
          'VALIDATION_ERROR',
          'A thumbprint is 32 bytes of SHA-256 in base64url without padding, 43 characters.',
        )
      }
      const agents = await agentsOfKey(db, bytes)
      const [first] = agents
      if (first === undefined) {
        throw new CodedError('NOT_FOUND', 'No agent has a key with this thumbprint.')
      }
      return {
        keyid: params.thumbprint,
        jwk: publicJwkOf(first.public_key),
        agents: agents.map(({ tail, status, claimed_at }) => ({
          [site.naming.didField]: didOfAgent(site, tail as Tail),
          status,
          claimedAt: timestamp(claimed_at),
        })),
      }
    },
  })
}
