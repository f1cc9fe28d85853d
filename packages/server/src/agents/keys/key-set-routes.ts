import {
  CodedError,
  type DirectoryProof,
  type DirectoryProofRequest,
  type DirectorySignature,
  directoryProofRequestSchema,
  directoryProofSchema,
  errorSchema,
  jwkOf,
  KEY_SET_TYPE,
  type KeySet,
  keySetSchema,
  keyThumbprint,
  type Naming,
  type PublicJwk,
  parseDidOrTail,
} from '@countersign/protocol'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { CACHE_ONE_MINUTE } from '../../http/caching.ts'
import { publicRead } from '../../http/public-read.ts'
import type { App } from '../../http/server.ts'
import type { AgentRecord, StoredDirectoryProof } from '../agent-record.ts'
import { findOrThrow, ownAgentParam, type ReadDeps } from '../find-agent.ts'

export const KEY_SET_URL = '/agent/:agent/jwks.json'

/** The key with which an agent signs requests, at the address that it sends as `Signature-Agent` (Web Bot Auth). */
export function keySetRoute(app: App, deps: ReadDeps): void {
  publicRead(app, deps.site.naming, {
    url: KEY_SET_URL,
    cacheControl: CACHE_ONE_MINUTE,
    schema: {
      operationId: 'agentKeySet',
      summary: 'Get the key set for an agent’s signed requests',
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
      const proof = validDirectoryProof(agent, deps.now())
      if (proof !== null) sendSignature(reply, proof)
      return keySetOf(agent)
    },
  })
}

/** Verifiers discard their copy of a key only if they get a key set without it. After a 404 or 410 they continue to use it. */
export function keySetOf({ status, publicKey }: AgentRecord): KeySet {
  if (status !== 'active') return { keys: [] }
  return { keys: [publicJwkOf(publicKey)] }
}

/** A public key as key sets have it. @param publicKey 32 bytes */
export function publicJwkOf(publicKey: Uint8Array): PublicJwk {
  return { ...jwkOf(publicKey), kid: keyThumbprint(publicKey), use: 'sig' }
}

/** Sends a key set's signature as header fields, which web pages may read too. */
export function sendSignature(reply: FastifyReply, fields: DirectorySignature): void {
  reply.header('signature-input', fields.signatureInput).header('signature', fields.signature)
  reply.header('access-control-expose-headers', 'ETag, Signature, Signature-Input')
}

/** The signature to serve with an agent's key set: only of an active agent, of its current key, and not expired. */
function validDirectoryProof(
  { status, publicKey, profile: { directoryProof: proof } }: AgentRecord,
  now: number,
): StoredDirectoryProof | null {
  if (proof === null || status !== 'active' || now >= proof.expires * 1000) return null
  return proof.keyid === keyThumbprint(publicKey) ? proof : null
}

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
