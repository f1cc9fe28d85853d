import { CodedError, isFresh, JWT_BEARER_GRANT, parseDidOrTail } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { didOfAgent, type Site } from '../base/site.ts'
import { CACHE_ONE_MINUTE } from '../http/caching.ts'
import { publicRead } from '../http/public-read.ts'
import type { App } from '../http/server.ts'
import type { AgentRecord } from './agent-record.ts'
import { findOrThrow, type ReadDeps } from './find-agent.ts'

/** Loopback redirects may use any port (RFC 8252 section 7.3). */
const LOOPBACK_REDIRECTS = ['http://127.0.0.1/callback', 'http://[::1]/callback']

/**
 * An agent as an OAuth client (draft-ietf-oauth-client-id-metadata-document) and as a signature agent
 * (draft-meunier-webbotauth-registry). Its URL is the `client_id`, so there is exactly one.
 */
export function clientMetadataRoute(app: App, deps: ReadDeps): void {
  publicRead(app, deps.site.naming, {
    url: '/agent/:tail/client.json',
    cacheControl: CACHE_ONE_MINUTE,
    schema: {
      operationId: 'agentClient',
      summary: 'Get the OAuth client metadata and signature agent card of an active agent',
      tags: ['oauth'],
      params: Type.Object({
        tail: Type.String({ description: 'the 24 characters at the end of the DID' }),
      }),
      response: { 200: clientMetadataSchema() },
    },
    handler: async (params: { tail: string }, reply) => {
      const { site } = deps
      const tail = parseDidOrTail(site.naming, params.tail)
      if (tail === null || !isCanonical(reply.request.raw, site, tail)) throw notFound()
      const { agent } = await findOrThrow(deps, { kind: 'tail', tail })
      if (agent.status !== 'active') {
        throw new CodedError(
          'AGENT_NOT_ACTIVE',
          `This agent is ${agent.status}. Only active agents are OAuth clients.`,
        )
      }
      return clientMetadataOf(site, agent, deps.now())
    },
  })
}

/** Whether the request has the `client_id` as its URL, byte by byte: not a DID, a query, or percent-encoding. */
function isCanonical({ url }: FastifyRequest['raw'], site: Site, tail: string): boolean {
  return site.baseUrl + url === clientIdOf(site, tail)
}

function clientIdOf({ baseUrl }: Site, tail: string): string {
  return `${baseUrl}/agent/${tail}/client.json`
}

function clientMetadataOf(site: Site, { tail, profile }: AgentRecord, now: number) {
  const { displayName, channels } = profile
  const domains = channels.filter((each) => each.kind === 'domain' && isFresh(each, now))
  return {
    client_id: clientIdOf(site, tail),
    // Anyone can choose any name: consent pages must not show it as verified.
    client_name: displayName === null ? `Agent ${tail}` : `${displayName} (self-declared name)`,
    client_uri: `${site.baseUrl}/agent/${didOfAgent(site, tail)}`,
    jwks_uri: `${site.baseUrl}/agent/${tail}/jwks.json`,
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'EdDSA',
    grant_types: ['authorization_code', JWT_BEARER_GRANT],
    response_types: ['code'],
    redirect_uris: [
      ...LOOPBACK_REDIRECTS,
      // With the tail, so that a page that the domain has for another purpose never gets a code.
      ...domains.map(({ handleOrDomain }) => `https://${handleOrDomain}/oauth/callback/${tail}`),
    ],
    // The service does not know how the agent crawls, so it claims nothing.
    web_bot_auth: {},
  }
}

function notFound(): CodedError {
  return new CodedError('NOT_FOUND', 'There is no client metadata document at this URL.')
}

function clientMetadataSchema() {
  return Type.Object(
    {
      client_id: Type.String({ description: 'the URL of this document' }),
      client_name: Type.String({ description: 'the name of the agent, marked as self-declared' }),
      client_uri: Type.String({ description: 'its certificate' }),
      jwks_uri: Type.String({ description: 'its key set' }),
      token_endpoint_auth_method: Type.Literal('private_key_jwt'),
      token_endpoint_auth_signing_alg: Type.Literal('EdDSA'),
      grant_types: Type.Array(Type.String()),
      response_types: Type.Array(Type.String()),
      redirect_uris: Type.Array(Type.String(), {
        description: 'on loopback, with any port, and at its verified domains',
      }),
      web_bot_auth: Type.Object({}, { description: 'nothing is known of how it crawls' }),
    },
    { description: 'OAuth client metadata, which is a signature agent card too' },
  )
}
