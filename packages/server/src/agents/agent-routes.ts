import {
  agentObjectSchema,
  didDocumentSchema,
  gradeAnswerSchema,
  type Naming,
  resolvableDidDocumentSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import { didOfAgent, type Site } from '../base/site.ts'
import { CACHE_30_SECONDS, CACHE_ONE_DAY, REVALIDATE } from '../http/caching.ts'
import { agentParam, publicRead } from '../http/public-read.ts'
import type { App } from '../http/server.ts'
import type { CoreDeps } from '../secrets/core-deps.ts'
import { agentObjectOf } from './agent-object.ts'
import { withCurrentChannels } from './current-channels.ts'
import { didDocumentOf, resolvableDidDocumentOf } from './did-document.ts'
import { findAgent, findAgentByTail, type PageReadDeps, type ReadDeps } from './find-agent.ts'
import { findAvatar } from './find-avatar.ts'
import { gradeAnswerOf } from './grade.ts'
import { preferredType } from './preferred-type.ts'

const JSON_TYPE = 'application/json'
export const AGENT_URL = '/api/agents/:agent'
export const DID_JSON = 'application/did+json'

/** Contract 4.7: the agent object, or the DID document if `Accept` prefers `application/did+json`. */
export function agentRoute(app: App, deps: ReadDeps): void {
  publicRead(app, deps.site.naming, {
    url: AGENT_URL,
    cacheControl: REVALIDATE,
    schema: schemaOf(deps.site.naming),
    handler: async (params: { agent: string }, reply, accept) => {
      const view = await findAgent(deps, params.agent)
      if (!prefersDidDocument(accept)) return agentObjectOf(deps.site, view, deps.now())
      // A revoked agent answers 410 with a document without keys.
      if (view.agent.status === 'revoked') reply.code(410).header('cache-control', 'no-store')
      reply.type(DID_JSON)
      return didDocumentOf(deps.site, view.agent)
    },
  })
}

function prefersDidDocument(accept: string | undefined): boolean {
  if (!accept?.toLowerCase().includes(DID_JSON)) return false
  return preferredType(accept, [DID_JSON, JSON_TYPE]) === DID_JSON
}

function schemaOf(naming: Naming) {
  const didDocument = { content: { [DID_JSON]: { schema: didDocumentSchema() } } }
  return {
    operationId: 'agent',
    summary: "Get the agent object, or the DID document in the contract's form",
    tags: ['resolve'],
    params: agentParam('agent'),
    response: {
      200: {
        description: 'The agent object or the DID document',
        content: {
          [JSON_TYPE]: { schema: agentObjectSchema(naming) },
          ...didDocument.content,
        },
      },
      410: { description: 'The DID document of a revoked agent', ...didDocument },
    },
  }
}

/** The URL that did:web resolvers fetch: `did:web:{host}:agent:svc:agent:{tail}` is `/agent/svc/agent/{tail}/did.json`. */
export function didJsonUrl({ naming }: Site): string {
  return `/agent/${naming.shortName}/agent/:tail/did.json`
}

/** The DID document for did:web resolvers. */
export function didJsonRoute(app: App, deps: ReadDeps): void {
  const { naming } = deps.site
  const document = { content: { [DID_JSON]: { schema: resolvableDidDocumentSchema() } } }
  publicRead(app, naming, {
    url: didJsonUrl(deps.site),
    cacheControl: REVALIDATE,
    schema: {
      operationId: 'didJson',
      summary: 'Get the DID document for did:web resolvers',
      tags: ['resolve'],
      params: Type.Object({
        tail: Type.String({ description: 'the 24 characters at the end of the DID' }),
      }),
      response: {
        200: { description: 'The DID document', ...document },
        410: { description: 'The DID document of a revoked agent', ...document },
      },
    },
    handler: async (params: { tail: string }, reply) => {
      const { agent } = await findAgentByTail(deps, params.tail)
      if (agent.status === 'revoked') reply.code(410).header('cache-control', 'no-store')
      reply.type(DID_JSON)
      return resolvableDidDocumentOf(deps.site, agent)
    },
  })
}

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

const SIZE = 256
/** Keeps a picture that is opened as a document of its own from loading or running anything. */
const PICTURE_CSP = "default-src 'none'; sandbox"

/** The picture generated from the DID, for agents without an uploaded picture. */
export function avatarRoute(app: App, deps: ReadDeps): void {
  publicRead(app, deps.site.naming, {
    url: '/api/agents/:agent/avatar.svg',
    cacheControl: CACHE_30_SECONDS,
    schema: {
      operationId: 'avatar',
      summary: 'Get the default picture of an agent',
      tags: ['show'],
      params: agentParam('agent'),
      response: { 200: pictureSchema('An SVG', 'image/svg+xml') },
    },
    handler: async (params: { agent: string }, reply) => {
      const { agent } = await findAgent(deps, params.agent)
      reply.type('image/svg+xml').header('content-security-policy', PICTURE_CSP)
      reply.serializer((svg: string) => svg)
      const { toSvg } = await import('jdenticon')
      return toSvg(didOfAgent(deps.site, agent.tail), SIZE)
    },
  })
}

/** The uploaded picture of an agent. It stays available after the agent was revoked. */
export function uploadedAvatarRoute(app: App, deps: ReadDeps & Pick<CoreDeps, 'db'>): void {
  publicRead(app, deps.site.naming, {
    url: '/api/agents/:agent/avatar.webp',
    cacheControl: CACHE_30_SECONDS,
    schema: {
      operationId: 'givenAvatar',
      summary: 'Get the uploaded picture of an agent',
      tags: ['show'],
      params: agentParam('agent'),
      querystring: Type.Object({
        v: Type.Optional(
          Type.String({ description: 'the version of the picture, from `avatarUrl`' }),
        ),
      }),
      response: { 200: pictureSchema('A WebP of 512 by 512 pixels', 'image/webp') },
    },
    handler: async (params: { agent: string }, reply) => {
      const { agent } = await findAgent(deps, params.agent)
      const { webp, avatar } = await findAvatar(deps, agent.tail)
      const { v } = reply.request.query as { v?: string }
      if (v === avatar) reply.header('cache-control', CACHE_ONE_DAY)
      reply.type('image/webp').header('content-security-policy', PICTURE_CSP)
      return webp
    },
  })
}

function pictureSchema(description: string, type: string) {
  return { description, content: { [type]: { schema: { type: 'string' } } } }
}
