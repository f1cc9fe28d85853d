import type { IncomingHttpHeaders } from 'node:http'
import { CodedError, ownerAgentSchema } from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { OWN_AGENT, ownAgentParam } from '../agents/own-agent-param.ts'
import { assertNoContentEncoding } from '../core/http/json-body.ts'
import type { App } from '../core/http/server.ts'
import { type OwnerRouteContext, ownerSchema } from '../owners/owner-routes.ts'
import { Avatars } from './avatar.ts'

const MIB_5 = 5 * 1024 * 1024

/** The picture of an agent, in a scope of its own: only here a body is a picture. */
export function avatarRoutes(app: App, { deps, signedIn }: OwnerRouteContext): void {
  const avatars = new Avatars(deps)
  const response = { 200: ownerAgentSchema(deps.site.naming) }
  const url = `${OWN_AGENT}/avatar`
  app.register(async (plain) => {
    const scope = plain.withTypeProvider() as unknown as App
    parsePictures(scope)
    // Before the body: what a stranger sends is not read.
    scope.addHook('onRequest', async (request) => {
      await signedIn.require(request)
    })

    scope.put(url, {
      bodyLimit: MIB_5,
      schema: ownerSchema({
        operationId: 'setAvatar',
        summary: 'Give an agent a picture: PNG, JPEG or WebP, at most 5 MiB and 40 million pixels',
        params: ownAgentParam(),
        querystring: Type.Object({ crop: Type.Optional(crop()) }, { additionalProperties: false }),
        body: { content: Object.fromEntries(PICTURE_TYPES.map((type) => [type, { schema: {} }])) },
        response,
      }),
      handler: async (request) => {
        const { ownerId } = await signedIn.require(request)
        const { params, query } = request as { params: { agent: string }; query: { crop?: string } }
        return avatars.set(ownerId, params.agent, request.body as Uint8Array, cropOf(query.crop))
      },
    })

    scope.delete(url, {
      schema: ownerSchema({
        operationId: 'removeAvatar',
        summary: "Take an agent's picture away",
        params: ownAgentParam(),
        response,
      }),
      handler: async (request) => {
        const { ownerId } = await signedIn.require(request)
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

function cropOf(text: string | undefined) {
  if (text === undefined) return null
  const [x = 0, y = 0, size = 0] = text.split(',').map(Number)
  return { x, y, size }
}

/** What a picture may be declared as. What it is, its bytes say. */
const PICTURE_TYPES = ['image/png', 'image/jpeg', 'image/webp']

/** Replaces the parsers of a scope by one that takes a picture as it comes, and nothing else. */
function parsePictures(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    PICTURE_TYPES,
    { parseAs: 'buffer' },
    async ({ headers }: { headers: IncomingHttpHeaders }, body: Buffer) => {
      assertNoContentEncoding(headers['content-encoding'])
      return body
    },
  )
  scope.addContentTypeParser('*', (_request, _payload, done) => done(refusal()))
  scope.addHook('preValidation', (request, _reply, done) => {
    const missing = request.method === 'PUT' && !(request.body instanceof Uint8Array)
    done(missing ? refusal() : undefined)
  })
}

function refusal(): CodedError {
  return new CodedError(
    'UNSUPPORTED_MEDIA_TYPE',
    'The body must be a picture: Content-Type: image/png, image/jpeg or image/webp.',
  )
}
