import type { FastifyRequest } from 'fastify'
import type { App } from '../core/http/server.ts'
import { failureOf } from '../owners/failed-return.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { providerParam } from '../providers/provider-param.ts'
import { requireProvider } from '../providers/providers.ts'
import { completeVerification } from './complete-verification.ts'

/** Where a provider sends the browser back to: on to the dashboard, which tells in words what came of it. */
export function callbackRoute(app: App, side: OwnerSide): void {
  const { deps } = side
  app.get('/identity/callback/:provider', {
    schema: ownerSchema({
      operationId: 'identityCallback',
      summary: 'Where a provider sends the browser back to',
      params: providerParam(),
      response: { 303: { type: 'null', description: 'On to the dashboard' } },
    }),
    handler: async (request, reply) => {
      const { id } = requireProvider(deps.providers, request.params.provider)
      const token = side.cookies.read(request, 'flow')
      side.cookies.clear(reply, 'flow')
      const outcome = await complete(side, request, id, token)
      return reply.redirect(`/dashboard/identity?${new URLSearchParams(outcome)}`, 303)
    },
  })
}

async function complete(
  { deps, signedIn }: OwnerSide,
  request: FastifyRequest,
  id: string,
  token: string | null,
): Promise<Record<string, string>> {
  try {
    const { ownerId } = await signedIn.require(request)
    const provider = requireProvider(deps.providers, id)
    const input = { url: new URL(request.url, deps.site.baseUrl) }
    await completeVerification(deps, { ownerId, provider, token, input })
    return { verified: id }
  } catch (error) {
    return failureOf(error, request, id)
  }
}
