import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { Agent } from '@countersign/sdk'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { ROOT, startTestService, type TestService } from '../../../../test/support/service.ts'
import { type GatewayProcess, startGateway } from '../support/gateway-process.ts'
import { type SentAnswer, SHOP, send, signingAgent } from '../support/signing.ts'

let service: TestService
let gateway: GatewayProcess
let shadow: GatewayProcess
let signer: Awaited<ReturnType<typeof signingAgent>>
const cleanup = fileCleanup()

before(async () => {
  const t = cleanup
  service = await startTestService(t)
  signer = await signingAgent(service)
  const settings = { service: service.url, audiences: [SHOP] }
  const policy = { requireProof: true }
  ;[gateway, shadow] = await Promise.all([
    startGateway(t, { ...settings, policy }),
    startGateway(t, { ...settings, policy: { ...policy, mode: 'shadow' } }),
  ])
})
type Fields = Readonly<Record<string, string>>
type Asking = (
  request: Request,
  headers?: Fields,
  at?: GatewayProcess,
  target?: string,
) => Promise<SentAnswer>

const targetOf = ({ url }: Request) => url.slice(new URL(url).origin.length)

/** The headers that Envoy passes on by the example configuration. */
function allowedByEnvoy(): (name: string) => boolean {
  const file = readFileSync(join(ROOT, 'deploy/envoy/envoy.yaml'), 'utf8')
  const part = file.slice(file.indexOf('allowed_headers:'), file.indexOf('http_service:'))
  const names = [...part.matchAll(/exact: ([\w-]+)/g)].map(([, name]) => name)
  return (name) => names.includes(name)
}

/** How each kind of proxy asks about a signed request, as its documentation has it. */
const ASKING: Readonly<Record<string, Asking>> = {
  // forwardAuth: a GET to the address, with all headers of the client and no body.
  traefik: (request, headers = {}, at = gateway, target = targetOf(request)) =>
    send(at.url, new Request(request.url, { headers: request.headers }), {
      target: '/auth/forward',
      host: new URL(at.url).host,
      headers: {
        'x-forwarded-method': request.method,
        'x-forwarded-uri': target,
        'x-forwarded-host': new URL(request.url).host,
        'x-forwarded-port': '443',
        'x-forwarded-proto': 'https',
        'x-forwarded-for': '192.0.2.1',
        ...headers,
      },
    }),
  // ext_authz: the client's method and Host, path_prefix with the client's target, the headers that are listed, and no body.
  envoy: (request, headers = {}, at = gateway, target = targetOf(request)) => {
    const allowed = allowedByEnvoy()
    const passed = [...request.headers].filter(([name]) => allowed(name))
    const { method, url } = request
    return send(at.url, new Request(url, { method, headers: passed }), {
      target: `/auth/envoy${target}`,
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

  test(`${proxy}: every header that a signature covers reaches the gateway`, async (t) => {
    const headers = {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'idempotency-key': '"k"',
      authorization: 'Bearer t',
      'mcp-method': 'tools/call',
      'mcp-name': 'order',
    }
    const answers: SentAnswer[] = []
    t.mock.method(globalThis, 'fetch', async (request: Request) => {
      for (const name of Object.keys(headers))
        assert.match(request.headers.get('signature-input') ?? '', new RegExp(`"${name}"`))
      const answer = await asking(request)
      answers.push(answer)
      const asked = answer.headers['accept-signature']
      const passed = asked === undefined ? {} : { 'accept-signature': String(asked) }
      return new Response(answer.text, { status: answer.status, headers: passed })
    })
    // The memory of a gateway that has just started asks for a nonce of its own.
    await signer.agent.fetch(`${SHOP}/orders`, { method: 'POST', headers, body: 'one item' })
    const answer = answers.at(-1)
    assert.equal(answer?.status, 200, answer?.text)
    assert.match(String(answer?.headers['x-serviceid-content-digest']), /^sha-256=:/)
  })

  test(`${proxy}: a request that was changed on the way is refused`, async () => {
    for (const target of ['/b', '/a?b=d', '/a', '/a?b=c&d', '//a?b=c', '/%61?b=c', '/x/../a?b=c']) {
      const answer = await asking(await signer.agent.sign(`${SHOP}/a?b=c`), {}, gateway, target)
      assert.ok([400, 401].includes(answer.status), `${target}: ${answer.status}`)
    }
  })

  test(`${proxy}: a proxy that does not say at which origin a signed request arrived gets 400`, async () => {
    const answer = await asking(await signer.agent.sign(SHOP), { 'x-forwarded-proto': '' })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /X-Forwarded-Host and X-Forwarded-Proto/)
  })

  test(`${proxy}: shadow mode admits everything and says what would have happened, and which check failed`, async () => {
    const { agent, did, registry } = signer
    const past = new Agent({ registry, did, signer: signer.key, audiences: [SHOP], now: () => 0 })
    const used = await agent.sign(`${SHOP}/${proxy}/used`)
    await asking(used, {}, shadow)
    const bare = (path: string, headers: Fields) => new Request(`${SHOP}${path}`, { headers })
    const rows: [Request, string | null, string | null, string][] = [
      [await agent.sign(`${SHOP}/a`), `/${proxy}/good`, 'bad-signature', 'signature-invalid'],
      [await past.sign(`${SHOP}/${proxy}/b`), null, 'expired', 'signature-invalid'],
      [used, null, 'replay', 'signature-invalid'],
      [await agent.sign(`${SHOP}/${proxy}/c`), null, 'verified', 'owner-verified'],
      [bare(`/${proxy}/d`, { ServiceID: did }), null, null, 'proof-required'],
      [bare(`/${proxy}/e`, {}), null, null, 'no-identification'],
    ]
    for (const [request, target, result, reason] of rows) {
      const good = result === 'verified'
      const path = target ?? targetOf(request)
      const answer = await asking(request, {}, shadow, path)
      assert.equal(answer.status, 200, path)
      assert.deepEqual(
        ['decision', 'proof'].map((name) => answer.headers[`x-serviceid-${name}`]),
        good ? ['shadow-allow', 'signature'] : ['shadow-deny', 'none'],
      )
      const { admitted, mode, proof, signature, refusal, reasons } = await shadow.logged(
        (each) => each.path === path && each.signature === result,
      )
      assert.deepEqual(
        [admitted, mode, proof, signature, refusal, (reasons as string[])[0]],
        [true, 'shadow', good ? 'signature' : 'none', result, good ? null : 401, reason],
        path,
      )
    }
    const metrics = await (await fetch(`${shadow.url}/metrics`)).text()
    const counted = (labels: string) =>
      new RegExp(`^countersign_gateway_proofs_total\\{${labels}\\} [1-9]`, 'm').test(metrics)
    for (const labels of [
      'action="deny",mode="shadow",reason="signature-invalid",proof="none",signature="replay"',
      'action="deny",mode="shadow",reason="signature-invalid",proof="none",signature="expired"',
      'action="deny",mode="shadow",reason="proof-required",proof="none",signature="none"',
      'action="allow",mode="shadow",reason="owner-verified",proof="signature",signature="verified"',
    ]) {
      assert.ok(counted(labels), `${labels}\n${metrics}`)
    }
  })
}
