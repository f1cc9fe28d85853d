import { errorSchema } from '@countersign/protocol'
import type { App } from '../../http/server.ts'
import type { OwnerDeps } from '../providers/providers.ts'
import { getProvider, providerParam } from '../providers/providers.ts'
import { handleProviderWebhook } from './verify.ts'

const BODY_LIMIT = 64 * 1024

/**
 * Receives providers' webhooks: without cookies, from any origin, with any media type. The body stays raw, because the
 * provider's signature covers its bytes.
 */
export async function providerWebhookRoute(app: App, deps: OwnerDeps): Promise<void> {
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: BODY_LIMIT },
      async (_request: unknown, body: Buffer) => body,
    )
    const providers = scope.withTypeProvider() as unknown as App
    providers.post('/webhooks/identity/:provider', {
      bodyLimit: BODY_LIMIT,
      schema: {
        operationId: 'identityWebhook',
        summary: 'Receive a webhook of the identity provider',
        tags: ['owner'],
        params: providerParam(),
        response: {
          204: { type: 'null', description: 'Received' },
          '4xx': errorSchema(),
          '5xx': errorSchema(),
        },
      },
      handler: async (request, reply) => {
        const provider = getProvider(deps.providers, request.params.provider)
        const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        await handleProviderWebhook(deps, provider, { headers: request.headers, raw })
        return reply.code(204).send(null as never)
      },
    })
  })
}
