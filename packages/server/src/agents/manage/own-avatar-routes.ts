import type { IncomingHttpHeaders } from 'node:http'
import { CodedError, ownerAgentSchema } from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import {
  forApiKeys,
  type OwnerRouteContext,
  ownerSchema,
} from '../../accounts/owners/owner-routes.ts'
import { assertNoContentEncoding } from '../../http/json-body.ts'
import type { App } from '../../http/server.ts'
import { OWN_AGENT, ownAgentParam } from '../find-agent.ts'
import { Avatars } from './avatar.ts'

const BODY_LIMIT = 5 * 1024 * 1024

/** Registers the avatar routes in their own scope, where bodies are images instead of JSON. */
export function avatarRoutes(app: App, { deps, authenticator }: OwnerRouteContext): void {
  const avatars = new Avatars(deps)
  const response = { 200: ownerAgentSchema(deps.site.naming) }
  const url = `${OWN_AGENT}/avatar`
  app.register(async (plain) => {
    const scope = plain.withTypeProvider() as unknown as App
    parseImages(scope)
    // Before the body is read, so that unauthenticated uploads are rejected early.
    scope.addHook('onRequest', async (request) => {
      await authenticator.owner(request)
    })

    scope.put(url, {
      bodyLimit: BODY_LIMIT,
      schema: ownerSchema({
        ...forApiKeys('agents:write'),
        operationId: 'setAvatar',
        summary:
          'Upload the picture of an agent: PNG, JPEG or WebP, at most 5 MiB and 40 million pixels',
        params: ownAgentParam(),
        querystring: Type.Object({ crop: Type.Optional(crop()) }, { additionalProperties: false }),
        body: { content: Object.fromEntries(IMAGE_TYPES.map((type) => [type, { schema: {} }])) },
        response,
      }),
      handler: async (request) => {
        const { ownerId } = await authenticator.owner(request)
        const { params, query } = request as { params: { agent: string }; query: { crop?: string } }
        return avatars.set(ownerId, params.agent, request.body as Uint8Array, parseCrop(query.crop))
      },
    })

    scope.delete(url, {
      schema: ownerSchema({
        ...forApiKeys('agents:write'),
        operationId: 'removeAvatar',
        summary: 'Remove the uploaded picture of an agent',
        params: ownAgentParam(),
        response,
      }),
      handler: async (request) => {
        const { ownerId } = await authenticator.owner(request)
        return avatars.remove(ownerId, (request.params as { agent: string }).agent)
      },
    })
  })
}

function crop() {
  return Type.String({
    pattern: '^\\d{1,5},\\d{1,5},\\d{1,5}$',
    description: 'x,y,size: a square, in pixels of the picture as it is displayed',
  })
}

function parseCrop(text: string | undefined) {
  if (text === undefined) return null
  const [x = 0, y = 0, size = 0] = text.split(',').map(Number)
  return { x, y, size }
}

/** Accepted media types. The actual format is detected from the bytes. */
const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp']

/** Replaces the body parsers of a scope by one that passes images on as bytes and rejects everything else. */
function parseImages(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    IMAGE_TYPES,
    { parseAs: 'buffer' },
    async ({ headers }: { headers: IncomingHttpHeaders }, body: Buffer) => {
      assertNoContentEncoding(headers['content-encoding'])
      return body
    },
  )
  scope.addContentTypeParser('*', (_request, _payload, done) => done(unsupportedMediaType()))
  scope.addHook('preValidation', (request, _reply, done) => {
    const missing = request.method === 'PUT' && !(request.body instanceof Uint8Array)
    done(missing ? unsupportedMediaType() : undefined)
  })
}

function unsupportedMediaType(): CodedError {
  return new CodedError(
    'UNSUPPORTED_MEDIA_TYPE',
    'The body must be a picture: Content-Type: image/png, image/jpeg or image/webp.',
  )
}
