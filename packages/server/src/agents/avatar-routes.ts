import { toSvg } from 'jdenticon'
import { Type } from 'typebox'
import { didOfAgent } from '../base/site.ts'
import { CACHE_30_SECONDS, CACHE_ONE_DAY } from '../http/caching.ts'
import { agentParam, publicRead } from '../http/public-read.ts'
import type { App } from '../http/server.ts'
import type { CoreDeps } from '../secrets/core-deps.ts'
import { findAgent, type ReadDeps } from './find-agent.ts'
import { findAvatar } from './find-avatar.ts'

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
