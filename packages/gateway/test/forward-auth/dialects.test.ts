import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type Agents, claimAgents } from '../../../../test/support/agents.ts'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { type GatewayProcess, startGateway } from '../support/gateway-process.ts'

let service: TestService
let agents: Agents
let gateway: GatewayProcess
const cleanup = fileCleanup()

before(async () => {
  const t = cleanup
  service = await startTestService(t)
  agents = await claimAgents(service)
  gateway = await startGateway(t, {
    service: service.url,
    policy: {
      limit: { requests: 2, seconds: 3600 },
      routes: [
        { path: '/open/*', levels: { none: 'allow' } },
        { path: '/form', methods: ['POST'], levels: { none: 'limit' } },
      ],
    },
  })
})
type Fields = Readonly<Record<string, string>>

const ORIGINAL = {
  'x-forwarded-method': 'GET',
  'x-forwarded-uri': '/x',
  'x-forwarded-for': '192.0.2.1',
}

/** How each kind of proxy describes the client's request. */
const ASKING: Readonly<
  Record<string, (headers: Fields, method?: string, target?: string) => Promise<Response>>
> = {
  // auth_request always sends a GET to the gateway's path.
  nginx: (headers, method = 'GET', target = '/x') =>
    fetch(`${gateway.url}/auth/nginx`, {
      headers: { ...ORIGINAL, ...headers, 'x-forwarded-method': method, 'x-forwarded-uri': target },
    }),
  forward: (headers, method = 'GET', target = '/x') =>
    fetch(`${gateway.url}/auth/forward`, {
      headers: { ...ORIGINAL, ...headers, 'x-forwarded-method': method, 'x-forwarded-uri': target },
    }),
  // ext_authz sends the original method, path_prefix with the original path and query, and no body.
  envoy: (headers, method = 'GET', target = '/x') =>
    fetch(`${gateway.url}/auth/envoy${target}`, {
      method,
      headers: { 'x-forwarded-for': '192.0.2.1', ...headers, 'content-length': '0' },
    }),
}

for (const [dialect, asking] of Object.entries(ASKING)) {
  test(`${dialect}: an admitted request is answered with 200 and the forwarded headers`, async () => {
    const response = await asking({ ServiceID: agents.verified, 'X-ServiceID-Status': 'forged' })
    assert.equal(response.status, 200)
    assert.deepEqual(identityOf(response), {
      'x-serviceid-decision': 'allow',
      'x-serviceid-verified': 'true',
      'x-serviceid-proof': 'none',
      'x-serviceid-did': agents.verified,
      'x-serviceid-status': 'active',
      'x-serviceid-identity-level': 'in-person',
      'x-serviceid-issuer': service.url,
    })
    assert.equal(await response.text(), '')
  })

  test(`${dialect}: a refusal is answered in the form that the proxy passes on`, async () => {
    const rows: [Fields, number, string][] = [
      [{}, 401, 'no-identification'],
      [{ ServiceID: agents.unknown }, 403, 'agent-unknown'],
      [{ ServiceID: agents.revoked }, 403, 'status-refused'],
    ]
    for (const [headers, status, reason] of rows) {
      const response = await asking(headers)
      assert.equal(response.status, status)
      assert.deepEqual(identityOf(response), {})
      assert.deepEqual((await refusalIn(response)).reasons[0], reason)
      assert.equal(response.headers.get('www-authenticate'), status === 401 ? 'ServiceID' : null)
    }
  })

  test(`${dialect}: a request over the rate limit is refused`, async () => {
    const address = {
      'x-forwarded-for': `203.0.113.9, 198.51.100.${Object.keys(ASKING).indexOf(dialect)}`,
    }
    const statuses = []
    for (let i = 0; i < 3; i++) {
      // Addresses that a client forges before the one added by the proxy do not change its limit.
      const headers = { 'x-forwarded-for': address['x-forwarded-for'].replace('.9,', `.${i},`) }
      statuses.push(await asking(headers, 'POST', '/form?x=y'))
    }
    const [, , last] = statuses as [Response, Response, Response]
    assert.deepEqual(
      statuses.map(({ status }) => status),
      [200, 200, dialect === 'nginx' ? 403 : 429],
    )
    const { code, reasons } = await refusalIn(last)
    assert.deepEqual([code, reasons[0]], ['RATE_LIMITED', 'over-limit'])
    assert.ok(Number(last.headers.get('retry-after')) > 1700)
  })

  test(`${dialect}: a route's rules apply by the original path and method`, async () => {
    assert.equal((await asking({}, 'GET', '/open/x?y')).status, 200)
    assert.equal((await asking({}, 'GET', '/form')).status, 401)
    assert.equal((await asking({}, 'GET', '/open/%2e%2e/x')).status, 401)
    assert.equal((await asking({}, 'GET', '/open/it%27s')).status, 401)
  })

  test(`${dialect}: a CORS preflight passes`, async () => {
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
    assert.equal((await asking(headers, 'OPTIONS')).status, 200)
    assert.equal((await asking({}, 'OPTIONS')).status, 401)
  })
}

test('nginx gets only the statuses 2xx, 401 and 403, with the response for the client in headers', async () => {
  const response = (await ASKING.nginx?.({ ServiceID: agents.suspended })) as Response
  assert.equal(response.headers.get('countersign-status'), '403')
  const body = response.headers.get('countersign-body') ?? ''
  assert.match(body, /^[\x20-\x7e]+$/)
  assert.equal(JSON.parse(body).error.code, 'FORBIDDEN')
})

test('forward: a method in lower case does not escape the rules for a method', async () => {
  for (const method of ['get', 'Get', 'post', 'GET, POST']) {
    for (const target of ['/open/x', '/form']) {
      assert.equal((await ASKING.forward?.({}, method, target))?.status, 401, method)
    }
  }
})

test('nginx is told to pass a request on without headers that it cannot remove', async () => {
  const asked = async (headers: Fields) => {
    const response = (await ASKING.nginx?.({ ServiceID: agents.verified, ...headers })) as Response
    return [response.status, response.headers.get('countersign-status')]
  }
  assert.deepEqual(await asked({ 'X-ServiceID-DID': 'forged' }), [200, null])
  for (const name of ['X-ServiceID-Extra', 'X_ServiceID_DID', 'X.ServiceID.DID']) {
    assert.deepEqual(await asked({ [name]: 'forged' }), [403, '200'])
  }
})

test('Envoy gets a list of client headers to remove, without the headers that it must set', async () => {
  const forged = {
    'X-ServiceID-DID': 'forged',
    'X-ServiceID-Extra': 'forged',
    x_serviceid_status: 'forged',
  }
  const known = (await ASKING.envoy?.({ ...forged, ServiceID: agents.verified })) as Response
  const removed = (response: Response) =>
    response.headers.get('x-envoy-auth-headers-to-remove')?.split(',').sort()
  assert.deepEqual(removed(known), ['x-serviceid-extra', 'x_serviceid_status'])
  const nobody = (await ASKING.envoy?.(forged, 'GET', '/open/x')) as Response
  assert.deepEqual(removed(nobody), ['x-serviceid-did', 'x-serviceid-extra', 'x_serviceid_status'])
  assert.equal(removed((await ASKING.envoy?.({}, 'GET', '/open/x')) as Response), undefined)
})

test('browsers get an HTML page if the proxy passes it on', async () => {
  const page = (await ASKING.forward?.({ accept: 'text/html' })) as Response
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(await page.text(), /^<!doctype html>/)
})

test('a proxy request without the original method and path is answered with 400', async () => {
  for (const path of ['/auth/nginx', '/auth/forward']) {
    const headers = { ServiceID: agents.verified }
    assert.equal((await fetch(gateway.url + path, { headers })).status, 400)
  }
  for (const path of ['/', '/auth', '/auth/forward/x', '/auth/envoys', '/auth/nginx/']) {
    assert.equal((await fetch(gateway.url + path)).status, 404)
  }
})

test('/healthz, /readyz and /metrics answer', async () => {
  for (const path of ['/healthz', '/readyz'])
    assert.equal((await fetch(gateway.url + path)).status, 200)
  const response = await fetch(`${gateway.url}/metrics`)
  const counted = await response.text()
  assert.match(counted, /^# TYPE countersign_gateway_decisions_total counter$/m)
  assert.match(
    counted,
    /^countersign_gateway_decisions_total\{action="allow",mode="enforce",level="verified",source="service"\} [1-9]/m,
  )
  assert.match(
    counted,
    /^countersign_gateway_decisions_total\{action="deny",mode="enforce",level="none",source=""\} [1-9]/m,
  )
})

test('each decision is logged with its reasons and without the query', async () => {
  await ASKING.forward?.(
    { ServiceID: agents.verified, authorization: 'Bearer secret' },
    'GET',
    '/logged?token=secret',
  )
  const line = await gateway.logged(({ path }) => path === '/logged')
  const { time, source, statusAgeSeconds, ...rest } = line
  assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  assert.match(String(source), /^(service|cache)$/)
  assert.equal(statusAgeSeconds, source === 'service' ? 0 : 5)
  assert.deepEqual(rest, {
    level: 'info',
    event: 'decision',
    action: 'allow',
    admitted: true,
    mode: 'enforce',
    agentLevel: 'verified',
    did: agents.verified,
    status: 'active',
    identityLevel: 'in-person',
    grade: null,
    issuer: service.url,
    proof: 'none',
    proofOfPossession: false,
    signature: null,
    keyid: null,
    signatureAgent: null,
    replay: null,
    digest: null,
    directory: null,
    delegation: null,
    approval: null,
    refusal: null,
    reasons: ['owner-verified', 'header-only'],
    method: 'GET',
    path: '/logged',
  })
  assert.ok(!JSON.stringify(gateway.logs()).includes('secret'))
  await ASKING.forward?.({ ServiceID: agents.revoked }, 'GET', '/refused')
  assert.equal((await gateway.logged(({ path }) => path === '/refused')).level, 'warn')
})

function identityOf({ headers }: Response): Record<string, string> {
  return Object.fromEntries(
    [...headers].filter(([name, value]) => name.startsWith('x-serviceid') && value !== ''),
  )
}

/** The error envelope: in the body, or in a header for nginx. */
async function refusalIn(response: Response): Promise<{ code: string; reasons: string[] }> {
  const text = response.headers.get('countersign-body') ?? (await response.text())
  return JSON.parse(text).error
}
