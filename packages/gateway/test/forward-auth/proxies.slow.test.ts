import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Agents, claimAgents } from '../../../../test/support/agents.ts'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { sendRaw } from '../../../../test/support/raw-http.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { needs } from '../../../../test/support/tools.ts'
import { type EchoSite, type Reached, startEchoSite } from '../support/echo-site.ts'
import { type GatewayProcess, startGateway } from '../support/gateway-process.ts'
import { type ProxyName, startProxy } from '../support/proxies.ts'
import { send, signForNewGateway, signingAgent } from '../support/signing.ts'
import { startWsgiSite, type WsgiRequest } from '../support/wsgi-site.ts'

const PROXIES: readonly ProxyName[] = ['nginx', 'caddy', 'haproxy']
/** Every character that header names may contain besides letters and digits (RFC 9110 section 5.6.2). */
const SEPARATORS = [..."-_.!#$%&'*+^`|~"]
/** Agents sign for plain http only on loopback. */
const LOCAL_SHOP = 'http://localhost:8000'

type Policy = Readonly<Record<string, unknown>>

const cleanup = fileCleanup()

interface World {
  readonly service: TestService
  readonly site: EchoSite
  readonly agents: Agents
  /** Of a verified owner. */
  readonly did: string
}

let world: Promise<World> | undefined
/** The service and the site of all tests that change neither. */
const openWorld = () => (world ??= startWorld())

async function startWorld(): Promise<World> {
  const service = await startTestService(cleanup)
  const agents = await claimAgents(service)
  return { service, agents, did: agents.verified, site: await startEchoSite(cleanup) }
}

let defaultGateway: Promise<GatewayProcess> | undefined

/** The shared gateway with the default policy. */
async function openGateway(): Promise<GatewayProcess> {
  const { service } = await openWorld()
  defaultGateway ??= startGateway(cleanup, { service: service.url })
  return defaultGateway
}

/** Starts a proxy with its example configuration of deploy/, before a gateway with a policy of its own. */
async function start(t: TestContext, proxy: ProxyName, policy?: Policy) {
  const { service, site, agents, did } = await openWorld()
  const gateway =
    policy === undefined
      ? await openGateway()
      : await startGateway(t, { service: service.url, policy })
  const url = await proxyFor(t, proxy, { gateway, site })
  const earlier = site.reached.length
  /** What has reached the site in this test. */
  const reached = () => site.reached.slice(earlier)
  return { service, agents, did, gateway, url, reached }
}

interface Behind {
  readonly gateway: GatewayProcess
  readonly site: { readonly port: number }
}

function proxyFor(
  t: TestContext,
  proxy: ProxyName,
  { gateway, site }: Behind,
  more: { readonly port?: number; readonly idHeader?: string } = {},
): Promise<string> {
  const ports = { gatewayPort: gateway.port, sitePort: site.port, idHeader: 'ServiceID' }
  return startProxy(t, proxy, { ...ports, ...more })
}

function identity({ fields }: Reached, idHeader = 'ServiceID'): Record<string, string> {
  const mine = new RegExp(`^x.${idHeader}`, 'i')
  const found = fields.filter(([name, value]) => mine.test(name) && value !== '')
  assert.equal(new Set(found.map(([name]) => name)).size, found.length, JSON.stringify(found))
  return Object.fromEntries(found)
}

/** Headers that a client might forge. */
const forged = (idHeader: string) => [
  `X-${idHeader}-Decision: allow`,
  `x-${idHeader.toLowerCase()}-verified: true`,
  `X-${idHeader}-Proof: forged`,
  `X-${idHeader}-Content-Digest: forged`,
  `X-${idHeader}-Directory: forged`,
  `X-${idHeader}-Issuer: forged`,
  `X-${idHeader}-Delegate: forged`,
  `X-${idHeader}-DID: forged`,
  `X-${idHeader}-DID: forged twice`,
  `X-${idHeader}-Status: forged`,
  `X-${idHeader}-Identity-Level: forged`,
  `X_${idHeader}_Verified: forged`,
  `X-${idHeader}_DID: forged`,
  `X_${idHeader}-Status: forged`,
  `X-${idHeader}-Extra: forged`,
]

async function askWith(url: string, lines: readonly string[], target = '/a/b?c=d%20e') {
  const head = [`GET ${target} HTTP/1.1`, 'Host: shop.example', 'Connection: close', ...lines]
  const { answers } = await sendRaw(url, `${head.join('\r\n')}\r\n\r\n`)
  return answers[0] ?? assert.fail('no answer')
}

for (const proxy of PROXIES) {
  test(
    `${proxy}: an admitted request reaches the site with the forwarded headers, a refused one gets the reasons`,
    needs(proxy),
    async (t) => {
      const { service, agents, url, reached } = await start(t, proxy)
      const rows: [string | null, number, string | undefined][] = [
        [agents.verified, 200, undefined],
        [agents.unverified, 200, undefined],
        [agents.unknown, 403, 'agent-unknown'],
        [agents.suspended, 403, 'status-refused'],
        [agents.revoked, 403, 'status-refused'],
        ['nonsense', 401, 'identification-unreadable'],
        [null, 401, 'no-identification'],
      ]
      for (const [named, status, reason] of rows) {
        const lines = [...forged('ServiceID'), ...(named === null ? [] : [`ServiceID: ${named}`])]
        const answer = await askWith(url, lines)
        assert.equal(answer.status, status, answer.text)
        assert.match(answer.headers.get('vary') ?? '', /\bServiceID\b/)
        if (reason !== undefined) {
          const { error } = JSON.parse(answer.text)
          assert.equal(error.reasons[0], reason)
          assert.equal(answer.headers.get('cache-control'), 'no-store')
          assert.equal(answer.headers.get('content-type'), 'application/json')
          assert.equal(answer.headers.get('www-authenticate'), status === 401 ? 'ServiceID' : null)
        }
      }
      assert.equal(reached().length, 2)
      const [first, second] = reached() as [Reached, Reached]
      assert.equal(first.url, '/a/b?c=d%20e')
      assert.deepEqual(
        first.fields.filter(([name]) => name === 'host').map(([, value]) => value),
        ['shop.example'],
      )
      assert.ok(!JSON.stringify(reached()).includes('forged'), JSON.stringify(reached()))
      assert.deepEqual(identity(first), {
        'x-serviceid-decision': 'allow',
        'x-serviceid-verified': 'true',
        'x-serviceid-proof': 'none',
        'x-serviceid-did': agents.verified,
        'x-serviceid-status': 'active',
        'x-serviceid-identity-level': 'in-person',
        'x-serviceid-issuer': service.url,
      })
      assert.equal(identity(second)['x-serviceid-decision'], 'limit')
      assert.equal(identity(second)['x-serviceid-identity-level'], 'unverified')
    },
  )

  test(
    `${proxy}: a client cannot have the forwarded headers removed by listing them in Connection`,
    needs(proxy),
    async (t) => {
      const { agents, url, reached } = await start(t, proxy)
      const names = ['Decision', 'Verified', 'Proof', 'DID', 'Status', 'Identity-Level', 'Issuer']
      const listed = names.map((name) => `X-ServiceID-${name}`).join(', ')
      for (const upgrade of [[], ['Upgrade: websocket']]) {
        for (const first of ['close', 'Upgrade', 'keep-alive, close']) {
          const lines = [`Connection: ${first}, ${listed}`, `ServiceID: ${agents.unverified}`]
          const request = ['GET /a HTTP/1.1', 'Host: shop.example', ...lines, ...upgrade]
          const before = reached().length
          const { answers } = await sendRaw(url, `${request.join('\r\n')}\r\n\r\n`, { count: 1 })
          const seen = reached()[before]
          // HAProxy refuses an upgrade without the headers of WebSocket.
          if (upgrade.length > 0 && seen === undefined) assert.notEqual(answers[0]?.status, 200)
          if (upgrade.length > 0 && seen === undefined) continue
          assert.ok(seen, `${first}: ${answers[0]?.status}`)
          const found = identity(seen)
          for (const name of names) {
            assert.ok(found[`x-serviceid-${name.toLowerCase()}`], `${first}: no ${name}`)
          }
          assert.equal(found['x-serviceid-decision'], 'limit')
        }
      }
    },
  )

  test(
    `${proxy}: bodies and methods pass, and route rules and limits by client address apply`,
    needs(proxy),
    async (t) => {
      const { did, url, reached } = await start(t, proxy, {
        limit: { requests: 2, seconds: 3600 },
        routes: [
          { path: '/open', levels: { none: 'limit' } },
          { path: '/upload', methods: ['POST'] },
          { path: '/paid', refusal: { status: 402, message: 'Pay “first”.' } },
          { path: '/hidden', refusal: { status: 404 } },
        ],
      })
      const init = { method: 'POST', headers: { ServiceID: did }, body: 'x'.repeat(100_000) }
      assert.equal((await fetch(`${url}/upload`, init)).status, 200)
      const [first] = reached()
      assert.deepEqual([first?.method, first?.body.length], ['POST', 100_000])
      const statuses: number[] = []
      for (let i = 0; i < 3; i++) {
        const answer = await askWith(
          url,
          [`X-Forwarded-For: 203.0.113.${i}`, `X-Real-IP: 203.0.113.${i}`],
          '/open?x',
        )
        statuses.push(answer.status)
        if (i === 2) assert.ok(Number(answer.headers.get('retry-after')) > 1700)
      }
      assert.deepEqual(statuses, [200, 200, 429])
      const paid = await askWith(url, [], '/paid')
      assert.deepEqual([paid.status, JSON.parse(paid.text).error.message], [402, 'Pay “first”.'])
      assert.equal((await askWith(url, [], '/hidden')).status, 404)
      // X-Forwarded headers that the client forges are ignored.
      const lies = ['X-Forwarded-Uri: /open', 'X-Forwarded-Method: GET', 'X-Original-URI: /open']
      assert.equal((await askWith(url, lies, '/closed')).status, 401)
    },
  )

  test(
    `${proxy}: a WSGI site gets only the gateway's identity headers, whatever a client writes for a hyphen`,
    needs(proxy, 'python3'),
    async (t) => {
      const { service, did } = await openWorld()
      const site = { port: await startWsgiSite(t) }
      const url = await proxyFor(t, proxy, { gateway: await openGateway(), site })
      const expected = {
        HTTP_X_SERVICEID_DECISION: 'allow',
        HTTP_X_SERVICEID_VERIFIED: 'true',
        HTTP_X_SERVICEID_PROOF: 'none',
        HTTP_X_SERVICEID_DID: did,
        HTTP_X_SERVICEID_STATUS: 'active',
        HTTP_X_SERVICEID_IDENTITY_LEVEL: 'in-person',
        HTTP_X_SERVICEID_ISSUER: service.url,
      }
      for (const a of SEPARATORS) {
        const names = SEPARATORS.flatMap((b) => [
          `X${a}ServiceID${b}Verified`,
          `x${a}serviceid${b}Extra`,
        ])
        const headers = Object.fromEntries(names.map((name) => [name, 'forged']))
        const response = await fetch(url, { headers: { ServiceID: did, ...headers } })
        const { fields } = (await response.json()) as WsgiRequest
        const identity = Object.entries(fields).filter(
          ([name, value]) => /^HTTP_X_SERVICEID/.test(name) && value !== '',
        )
        assert.deepEqual(Object.fromEntries(identity), expected, String(names))
      }
      // The rest of such a request arrives.
      const headers = { ServiceID: did, 'X-ServiceID-Extra': 'forged', Cookie: 'a=b' }
      const response = await fetch(url, { method: 'POST', body: 'abc', headers })
      const { fields, body } = (await response.json()) as WsgiRequest
      assert.deepEqual([fields.HTTP_COOKIE, fields.HTTP_SERVICEID, body], ['a=b', did, 'abc'])
    },
  )
}

test(
  'a revoked agent is refused within cacheSeconds, and the policy decides while the service is down',
  needs(...PROXIES),
  async (t) => {
    const service = await startTestService(t)
    const policy = { cacheSeconds: 0, unreachable: 'deny' }
    const gateway = await startGateway(t, { service: service.url, policy })
    const { site } = await openWorld()
    const did = await claimAgent(service, await service.operator.addVerifiedOwner())
    const urls = await Promise.all(PROXIES.map((proxy) => proxyFor(t, proxy, { gateway, site })))
    const ask = () => Promise.all(urls.map((url) => askWith(url, [`ServiceID: ${did}`])))
    const statuses = async () => (await ask()).map(({ status }) => status)
    assert.deepEqual(await statuses(), [200, 200, 200])
    await setStatus(service, did, 'revoked')
    assert.deepEqual(await statuses(), [403, 403, 403])
    await service.stop()
    for (const [i, answer] of (await ask()).entries()) {
      assert.equal(answer.status, 503, PROXIES[i])
      assert.equal(answer.headers.get('retry-after'), '5', PROXIES[i])
      assert.equal(JSON.parse(answer.text).error.reasons[0], 'service-unreachable', PROXIES[i])
    }
  },
)

test(
  'forged headers of an admitted unknown agent are removed, and nothing is admitted while the gateway is down',
  needs(...PROXIES),
  async (t) => {
    // Nothing listens on port 1.
    const settings = { service: 'http://127.0.0.1:1', policy: { unreachable: 'flag' } }
    const gateway = await startGateway(t, settings)
    const site = await startEchoSite(t)
    const urls = await Promise.all(PROXIES.map((proxy) => proxyFor(t, proxy, { gateway, site })))
    const lines = [`ServiceID: svc:agent:${'z'.repeat(24)}`, ...forged('ServiceID')]
    for (const url of urls) {
      assert.equal((await askWith(url, lines)).status, 200)
      assert.deepEqual(identity(lastOf(site)), {
        'x-serviceid-decision': 'flag',
        'x-serviceid-verified': 'false',
        'x-serviceid-proof': 'none',
      })
    }
    const reached = site.reached.length
    await gateway.stop('SIGKILL')
    for (const [i, proxy] of PROXIES.entries()) {
      const answer = await askWith(urls[i] as string, lines)
      assert.equal(answer.status, proxy === 'caddy' ? 502 : 503)
      if (proxy === 'caddy') continue
      const { error } = JSON.parse(answer.text)
      assert.deepEqual([error.code, error.reasons], ['UNAVAILABLE', ['gateway-failed']])
      assert.match(error.requestId, /^req_[0-9a-f]{32}$/)
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.equal(answer.headers.get('cache-control'), 'no-store')
      assert.equal(answer.headers.get('retry-after'), '5')
    }
    assert.equal(site.reached.length, reached)
  },
)

test('caddy: a method in lower case has the same rules', needs('caddy'), async (t) => {
  const routes = [{ path: '/form', methods: ['POST'], levels: { none: 'deny' } }]
  const { url, reached } = await start(t, 'caddy', { levels: { none: 'allow' }, routes })
  for (const [method, status] of Object.entries({ GET: 200, POST: 401, post: 401, Post: 401 })) {
    const request = `${method} /form HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n`
    const { answers } = await sendRaw(url, request)
    assert.equal(answers[0]?.status, status, method)
  }
  assert.equal(reached().filter((each) => each.url === '/form').length, 1)
})

test('haproxy: works with another short name and header', needs('haproxy'), async (t) => {
  const names = { shortName: 'acme', idHeader: 'AcmeID' }
  const service = await startTestService(t, { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID' })
  const site = await startEchoSite(t)
  const gateway = await startGateway(t, { service: service.url, ...names })
  const url = await proxyFor(t, 'haproxy', { gateway, site }, { idHeader: 'AcmeID' })
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  assert.match(did, /^acme:agent:/)
  assert.equal((await askWith(url, [...forged('AcmeID'), `AcmeID: ${did}`])).status, 200)
  assert.deepEqual(identity(site.reached[0] as Reached, 'AcmeID'), {
    'x-acmeid-decision': 'allow',
    'x-acmeid-verified': 'true',
    'x-acmeid-proof': 'none',
    'x-acmeid-did': did,
    'x-acmeid-status': 'active',
    'x-acmeid-identity-level': 'in-person',
    'x-acmeid-issuer': service.url,
  })
  const refused = await askWith(url, [`ServiceID: ${did}`])
  assert.equal(refused.status, 401)
  assert.doesNotMatch(JSON.stringify([...refused.headers, refused.text]), /ServiceID|svc/)
})

let signing: ReturnType<typeof startSigning> | undefined
/** The gateway and the agent of all tests that sign requests. */
const openSigning = () => (signing ??= startSigning())

async function startSigning() {
  const { service } = await openWorld()
  const routes = [{ path: '/orders', methods: ['POST'], refusal: { status: 402 } }]
  const policy = { requireProof: true, levels: { unverified: 'deny' }, routes }
  const settings = { service: service.url, audiences: [LOCAL_SHOP], policy }
  const gateway = await startGateway(cleanup, settings)
  return { gateway, signer: await signingAgent(service, [LOCAL_SHOP]) }
}

for (const proxy of PROXIES) {
  test(
    `${proxy}: a signed request proves the agent by what the proxy says of it, and a forged one does not`,
    needs(proxy),
    async (t) => {
      const { site } = await openWorld()
      const { gateway, signer } = await openSigning()
      const { agent, did } = signer
      const url = await proxyFor(t, proxy, { gateway, site })

      const request = await agent.sign(`${LOCAL_SHOP}/a/b?c=d%20e`)
      const forged = { 'X-ServiceID-Proof': 'session', 'X-ServiceID-Content-Digest': 'forged' }
      assert.equal((await send(url, request, { headers: forged })).status, 200)
      const { 'x-serviceid-did': named, 'x-serviceid-proof': proof } = identity(lastOf(site))
      assert.deepEqual([named, proof], [did, 'signature'])
      assert.equal(identity(lastOf(site))['x-serviceid-content-digest'], undefined)
      assert.equal((await send(url, request)).status, 401)

      const init = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'one item' }
      const unsigned = new Request(`${LOCAL_SHOP}/orders`, init)
      const order = await signForNewGateway(signer, unsigned, (each) => send(url, each))
      // With another header that only a gateway may set, nginx passes the request on by its list of headers.
      const extra = { 'X-ServiceID-Extra': 'forged' }
      assert.equal((await send(url, order, { headers: extra })).status, 200)
      const told = identity(lastOf(site))
      assert.equal(told['x-serviceid-proof'], 'signature')
      assert.equal(told['x-serviceid-content-digest'], order.headers.get('content-digest'))
      assert.equal(lastOf(site).body, 'one item')
      assert.equal(told['x-serviceid-extra'], undefined)

      const lies = { 'X-Forwarded-Host': new URL(LOCAL_SHOP).host, 'X-Forwarded-Uri': '/a' }
      const sign = () => agent.sign(`${LOCAL_SHOP}/a`)
      const reached = site.reached.length
      for (const changes of [{ target: '/b' }, { method: 'DELETE' }, { host: 'other.example' }]) {
        const answer = await send(url, await sign(), { ...changes, headers: lies })
        assert.equal(answer.status, 401, JSON.stringify(changes))
      }
      const bare = new Request(`${LOCAL_SHOP}/orders`, { ...init, headers: { ServiceID: did } })
      const refused = await send(url, bare)
      assert.equal(refused.status, 402)
      assert.match(
        String(refused.headers['accept-signature']),
        /^sig1=\("@method".*"web-bot-auth"$/,
      )
      assert.match(String(refused.headers.vary), /\bSignature\b/)
      assert.equal(site.reached.length, reached)
    },
  )
}

for (const proxy of PROXIES) {
  test(
    `${proxy}: agents sign in at the gateway, and their sessions reach the site as proof`,
    needs(proxy),
    async (t) => {
      const { service, site } = await openWorld()
      const port = await freePort('127.0.0.1')
      const settings = {
        service: service.url,
        audiences: [`http://127.0.0.1:${port}`],
        sessionSecretVariable: 'SECRET',
        signInPath: '/agent-sign-in',
        policy: { requireProof: true, limit: { requests: 8, seconds: 3600 } },
      }
      const gateway = await startGateway(t, settings, { SECRET: 's'.repeat(32) })
      const url = await proxyFor(t, proxy, { gateway, site }, { port })

      const refused = await fetch(`${url}/orders`)
      assert.equal(refused.status, 401)
      const schemes = 'ServiceID sign_in="/agent-sign-in", Bearer'
      assert.equal(refused.headers.get('www-authenticate'), schemes)
      assert.match(refused.headers.get('accept-signature') ?? '', /^sig1=/)

      const { agent, did } = await signingAgent(service, [url])
      await agent.signIn(`${url}/agent-sign-in`)
      const init = { method: 'POST', body: 'one item', headers: { 'X-ServiceID-Proof': 'forged' } }
      assert.equal((await agent.fetch(`${url}/orders`, init)).status, 200)
      const told = identity(lastOf(site))
      assert.deepEqual([told['x-serviceid-proof'], told['x-serviceid-did']], ['session', did])
      assert.equal(lastOf(site).body, 'one item')

      // Neither the path nor a forged header leads elsewhere, and the client's address is that of the connection.
      const reached = site.reached.length
      const lies = ['X-Forwarded-For: 203.0.113.7', 'X-Forwarded-Host: evil.example']
      for (const target of ['/auth/envoy/../../agent-sign-in', '/agent-sign-in/../metrics']) {
        const { text } = await askWith(url, lies, target)
        assert.doesNotMatch(text, /svc-challenge-v1:https?:\/\/evil|countersign_gateway_/, target)
      }
      const host = `Host: ${new URL(url).host}`
      const statuses: number[] = []
      for (let i = 0; i < 9; i++) {
        const lines = [`X-Forwarded-For: 203.0.113.${i}`, 'Connection: close']
        const request = ['GET /agent-sign-in HTTP/1.1', host, ...lines].join('\r\n')
        const { answers } = await sendRaw(url, `${request}\r\n\r\n`)
        statuses.push(answers[0]?.status ?? 0)
      }
      assert.equal(statuses.at(-1), 429, String(statuses))
      assert.equal(site.reached.length, reached)
    },
  )
}

function lastOf(site: { readonly reached: readonly Reached[] }): Reached {
  return site.reached.at(-1) ?? assert.fail('nothing reached the site')
}
