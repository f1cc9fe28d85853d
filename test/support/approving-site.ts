import { buffer } from 'node:stream/consumers'
import { gateway } from '../../packages/gateway/src/express.ts'
import type { PolicyInput } from '../../packages/gateway/src/policy/policy.ts'
import { Registry } from '../../packages/sdk/src/index.ts'
import { olderNonceStore } from '../../packages/sdk/test/support/signed-site.ts'
import { startSite } from './impostor.ts'
import { PATIENT_CLIENT } from './patient-client.ts'
import type { Cleanup, TestService } from './service.ts'

/** A site behind a gateway that answers with the id of the approval. `/to?<path>` redirects. */
export async function startApprovingSite(
  t: Cleanup,
  service: TestService,
  policy: PolicyInput = { approval: {} },
) {
  const received: { path: string | undefined; approval: string | undefined }[] = []
  const started: { protect?: ReturnType<typeof gateway> } = {}
  const site = await startSite(t, async (request, response) => {
    started.protect ??= gateway({
      service: new Registry(service.url, PATIENT_CLIENT),
      audiences: [site],
      nonces: olderNonceStore(),
      timeoutMs: 30_000,
      policy: { ...policy, routes: [{ path: '/to', approval: null }, ...(policy.routes ?? [])] },
    })
    const body = await buffer(request)
    Object.assign(request, { rawBody: new Uint8Array(body) })
    const [path, query = ''] = (request.url ?? '').split('?')
    received.push({ path, approval: request.headers['serviceid-approval'] as string | undefined })
    started.protect(request, response, () => {
      if (path === '/to') return response.writeHead(307, { location: query }).end()
      return response.end(String(request.headers['x-serviceid-approval'] ?? 'none'))
    })
  })
  return { site, received }
}
