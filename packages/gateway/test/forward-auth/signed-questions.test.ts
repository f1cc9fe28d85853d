import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { type GatewayProcess, startGateway } from '../support/gateway-process.ts'
import { type SentAnswer, SHOP, send, signingAgent } from '../support/signing.ts'

let service: TestService
let gateway: GatewayProcess
let signer: Awaited<ReturnType<typeof signingAgent>>
const ends: (() => unknown)[] = []

before(async () => {
  const t = { after: (end: () => unknown) => ends.push(end) }
  service = await startTestService(t)
  signer = await signingAgent(service)
  const policy = { requireProof: true }
  gateway = await startGateway(t, { service: service.url, audiences: [SHOP], policy })
})
after(async () => {
  for (const end of ends.reverse()) await end()
})

type Fields = Readonly<Record<string, string>>

/** How each kind of proxy asks about a signed request, as its documentation has it. */
const ASKING: Readonly<
  Record<string, (request: Request, headers?: Fields) => Promise<SentAnswer>>
> = {
  // forwardAuth: a GET to the address, with the client's headers.
  traefik: (request, headers = {}) => {
    const { pathname, search, host } = new URL(request.url)
    return send(gateway.url, request, {
      method: 'GET',
      target: '/auth/forward',
      host: new URL(gateway.url).host,
      headers: {
        'x-forwarded-method': request.method,
        'x-forwarded-uri': pathname + search,
        'x-forwarded-host': host,
        'x-forwarded-proto': 'https',
        ...headers,
      },
    })
  },
  // ext_authz: the client's method and Host, path_prefix with the client's target, and no body.
  envoy: (request, headers = {}) => {
    const { pathname, search } = new URL(request.url)
    return send(gateway.url, request, {
      target: `/auth/envoy${pathname}${search}`,
      headers: { 'x-forwarded-proto': 'https', 'content-length': '0', ...headers },
    })
  },
}

for (const [proxy, asking] of Object.entries(ASKING)) {
  test(`${proxy}: a signed request is proven by the origin that the proxy names`, async () => {
    const request = await signer.agent.sign(`${SHOP}/a?b=c`)
    const answer = await asking(request)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers['x-serviceid-proof'], 'signature')
    assert.equal(answer.headers['x-serviceid-did'], signer.did)
    assert.equal((await asking(request)).status, 401)
    const http = await asking(await signer.agent.sign(SHOP), { 'x-forwarded-proto': 'http' })
    assert.equal(http.status, 401)
    const bare = await asking(new Request(SHOP, { headers: { ServiceID: signer.did } }))
    assert.equal(bare.status, 401)
    assert.match(String(bare.headers['accept-signature']), /"web-bot-auth"$/)
  })

  test(`${proxy}: a proxy that does not say at which origin a signed request arrived gets 400`, async () => {
    const answer = await asking(await signer.agent.sign(SHOP), { 'x-forwarded-proto': '' })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /X-Forwarded-Host and X-Forwarded-Proto/)
  })
}
