import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  agentSignIn,
  Registry,
  type SignatureResult,
  type VerifyRequestOptions,
  verifyRequest,
} from '@countersign/sdk'
import { nodeListener } from '@countersign/sdk/node'
import { olderNonceStore } from '../../../../test/support/older-nonce-store.ts'
import { PATIENT_CLIENT } from '../../../../test/support/patient-client.ts'
import type { Cleanup } from '../../../../test/support/service.ts'

/** What reached the site. */
export interface SiteRequestSeen {
  readonly method: string
  readonly path: string
  /** Null: it was not verified. */
  readonly did: string | null
  readonly authorization: string | null
  readonly body: string
}

/**
 * A site on SDK alone: it verifies the signature, has a sign-in for agents at `/agent-sign-in`, and answers as `answer` says.
 * `/account` needs a session as well.
 * @param delegation which chains of delegations it accepts; null: none
 */
export async function startSignedSite(
  t: Cleanup,
  service: string,
  answer: (seen: SiteRequestSeen, result: SignatureResult) => Response = (seen) =>
    Response.json(seen),
  delegation: VerifyRequestOptions['delegation'] = null,
) {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const registry = new Registry(service, PATIENT_CLIENT)
  const signIn = agentSignIn({ registry, audience: url, secret: 's'.repeat(43) })
  const nonces = olderNonceStore()
  const seen: SiteRequestSeen[] = []
  server.on(
    'request',
    nodeListener(url, async (request) => {
      const { pathname: path, search } = new URL(request.url)
      if (path === '/agent-sign-in') return signIn.handle(request)
      const options = { registry, audiences: [url], nonces, delegation }
      const result = await verifyRequest(request.clone(), options)
      const { did } = result
      const { method } = request
      const authorization = request.headers.get('authorization')
      const body = await request.text()
      const one = { method, path: path + search, did, authorization, body }
      seen.push(one)
      const isOut = path === '/account' && (await signIn.session(request)) === null
      return isOut ? new Response('Sign in first.', { status: 401 }) : answer(one, result)
    }),
  )
  return { url, seen }
}
