import { ownerAgentSchema } from '@countersign/protocol'
import { Type } from 'typebox'
import { OWN_AGENT, ownAgentParam } from '../agents/own-agent-param.ts'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { Avatars } from './avatar.ts'
import { PICTURE_TYPES, parsePictures } from './picture-body.ts'

const MIB_5 = 5 * 1024 * 1024

/** The picture of an agent, in a scope of its own: only here a body is a picture. */
export function avatarRoutes(app: App, { deps, signedIn }: OwnerSide): void {
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
