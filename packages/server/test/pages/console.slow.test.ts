import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { runInNewContext } from 'node:vm'
import type { Decision } from '@countersign/gateway'
import { gateway } from '@countersign/gateway/fetch'
import { unverify } from '../../../../test/support/agents.ts'
import { ask } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { signedHeaders } from '../../../../test/support/sign-request.ts'
import {
  callersOf,
  codesOf,
  fileOf,
  ORIGIN,
  open,
  type ShownCaller,
  send,
} from './support/console.ts'
import { unescaped } from './support/html.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const STRANGER = `svc:agent:${'2'.repeat(24)}`

/** What a gateway with the configuration of a page decides, as the page shows it. */
async function decideByGateway(
  service: TestService,
  html: string,
  request: Request,
): Promise<ShownCaller> {
  let passed: Request | null = null
  let decision: Decision | null = null
  const handle = gateway({
    ...fileOf(html),
    service: service.url,
    onDecision: (each) => {
      decision = each
    },
  })((each: Request) => {
    passed = each
    return new Response()
  })
  const response = await handle(request)
  const { reasons } = decision as unknown as Decision
  const words = [wordsFor(decision as unknown as Decision)]
  const codes = reasons.map(({ code }) => code)
  if (passed === null) {
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`)
    return { words, reasons: codes, lines: [`status: ${response.status}`, ...headers] }
  }
  const lines = [...(passed as Request).headers].filter(([name]) => name.startsWith('x-serviceid-'))
  return { words, reasons: codes, lines: lines.map((each) => each.join(': ')) }
}

function wordsFor({ action, mode, refusal, did, proof }: Decision): string {
  if (action === 'deny') {
    return `${mode === 'shadow' ? 'Would refuse' : 'Refused'}, ${refusal?.status}`
  }
  if (action === 'flag') return 'Allowed, flagged'
  if (did !== null && proof === 'none') return 'Allowed, unproven'
  return action === 'limit' ? 'Rate limited' : 'Allowed'
}

function comparable(shown: ShownCaller | undefined) {
  assert.ok(shown)
  const lines = shown.lines.map((line) => line.replace(/^[^:]*/, (name) => name.toLowerCase()))
  return { ...shown, lines: lines.toSorted() }
}

test('the console decides on a captured request as a gateway with its configuration does', async (t) => {
  const service = await startTestService(t)
  const keys = { verified: newKey(), unverified: newKey(), revoked: newKey() }
  const verified = await service.operator.addVerifiedOwner()
  const other = await service.operator.addVerifiedOwner()
  const dids = {
    verified: await claimAgent(service, verified, keys.verified),
    unverified: await claimAgent(service, other, keys.unverified),
    revoked: await claimAgent(service, verified, keys.revoked, 'gone'),
  }
  await unverify(service, other, dids.unverified)
  await setStatus(service, dids.revoked, 'revoked')
  const several = (minimumKeyAgeSeconds: number) => ({
    deny: [dids.revoked],
    refusal: { message: 'Ask the shop for access.' },
    routes: [
      { path: '/orders/8', levels: { none: 'allow' } },
      {
        path: '/orders/*',
        methods: ['POST', 'GET'],
        allow: [dids.unverified.slice(-24), dids.revoked],
        deny: [],
        statuses: ['active', 'revoked'],
        minimumKeyAgeSeconds,
        refusal: { status: 404 },
      },
      { path: '/*' },
    ],
  })
  const policies: Record<string, object> = {
    'the default of the gateway': {},
    'proof, and a route': {
      requireProof: true,
      levels: { none: 'allow' },
      routes: [
        {
          path: '/orders/*',
          methods: ['GET'],
          levels: { none: 'deny', unverified: 'deny' },
          refusal: { status: 402 },
        },
      ],
    },
    'a grade in shadow mode': { mode: 'shadow', minimumGrade: 'A', levels: { unknown: 'allow' } },
    'the second of several routes, lists of agents, and a young key': several(86_400),
    'an allow list of a route without proof': several(0),
    'other providers': { identityMethods: ['eid'] },
  }
  const url = `${ORIGIN}/orders/7?page=2`
  type Headers = readonly (readonly [string, string])[]
  const requests: (() => Promise<Headers>)[] = [
    async () => [['Host', 'shop.example']],
    async () => [['ServiceID', dids.verified]],
    async () => [['ServiceID', dids.unverified.slice(-24)]],
    async () => [['ServiceID', `svc:agent:${'1'.repeat(24)}`]],
    async () => [['serviceid', 'not a DID']],
    () => signedHeaders(service, dids.verified, keys.verified, { url }),
    () => signedHeaders(service, dids.unverified, keys.unverified, { url }),
    () => signedHeaders(service, dids.revoked, keys.revoked, { url }),
    () => signedHeaders(service, dids.verified, newKey(), { url }),
  ]
  for (const [name, policy] of Object.entries(policies)) {
    await t.test(name, async () => {
      for (const headersOf of requests) {
        const headers = await headersOf()
        const lines = headers.map((each) => each.join(': ')).join('\r\n')
        const fields = { request: url, headers: lines, origin: `https://a.example ${ORIGIN}` }
        const html = await unchanged(service, () => send(service, policy, fields))
        const sent = new Request(url, { headers: headers as [string, string][] })
        const decided = await decideByGateway(service, html, sent)
        assert.deepEqual(comparable(callersOf(html).pasted), comparable(decided), lines)
      }
    })
  }
})

test('it warns of every policy by which a bare header is admitted', async (t) => {
  const service = await startTestService(t)
  const proof = { requireProof: true }
  const levels = { verified: 'deny', unverified: 'deny' }
  const always = 'Anyone can name any agent. This configuration admits impostors.'
  const away = 'While the service is unreachable, anyone can name any agent.'
  const cases: [policy: object, warning: string | null][] = [
    [{}, always],
    [{ levels }, null],
    [{ levels, allow: [STRANGER] }, always],
    [{ levels, allow: [STRANGER], deny: [STRANGER] }, null],
    [{ minimumGrade: 'A', identityMethods: ['github'], limit: { requests: 1 } }, always],
    [{ levels, routes: [{ path: '/a', requireProof: false }] }, null],
    [{ ...proof, routes: [{ path: '/a', requireProof: false }] }, always],
    [{ ...proof, routes: [{ path: '/*' }, { path: '/a', requireProof: false }] }, always],
    [{ ...proof, unreachable: 'stale' }, null],
    [{ ...proof, unreachable: 'flag' }, away],
    [{ ...proof, routes: [{ path: '/a', unreachable: 'allow' }] }, away],
    [{ ...proof, mode: 'shadow' }, always],
  ]
  for (const [policy, warning] of cases) {
    const html = await send(service, policy)
    const [, shown = null] = /<strong[^>]*>(.*?)<\/strong>/.exec(html) ?? []
    assert.ok(warning === null ? shown === null : shown?.startsWith(warning), `${shown}`)
  }
})

test('it decides as a gateway does whose service becomes unreachable', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), newKey())
  let isAway = false
  const front = createServer(async (request, response) => {
    // The service may have ended before a question that the gateway has given up.
    const answer = isAway ? null : await fetch(service.url + request.url).catch(() => null)
    response.writeHead(answer?.status ?? 502, { 'content-type': 'application/json' })
    response.end((await answer?.text()) ?? '')
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  t.after(() => front.close())
  t.after(() => front.closeAllConnections())
  const address = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  for (const unreachable of ['deny', 'flag', 'allow', 'stale']) {
    const policy = { unreachable, cacheSeconds: 0, routes: [{ path: '/x' }] }
    const html = await send(service, policy, { request: 'GET /x', agent: did, away: 'yes' })
    let decision: Decision | null = null
    const handle = gateway({
      ...fileOf(html),
      service: address,
      issuer: service.url,
      onDecision: (each) => {
        decision = each
      },
    })(() => new Response('admitted'))
    const request = () => new Request(`${ORIGIN}/x`, { headers: { ServiceID: did } })
    isAway = false
    await handle(request())
    isAway = true
    await handle(request())
    const { reasons } = decision as unknown as Decision
    assert.deepEqual(
      [callersOf(html).header?.words, callersOf(html).header?.reasons],
      [[wordsFor(decision as unknown as Decision)], reasons.map(({ code }) => code)],
    )
  }
})

test('each configuration has the policy, and that of the first visit refuses a bare header', async (t) => {
  const service = await startTestService(t)
  const policy = {
    limit: { seconds: 10 },
    levels: { none: 'allow' },
    requireProof: true,
    routes: [{ path: "/it's/*", methods: ['POST', 'PUT'], refusal: { status: 404 } }],
  }
  const html = await send(service, policy)
  assert.deepEqual(fileOf(html), { service: service.url, audiences: [ORIGIN], policy })
  const names = ['express', 'fastify', 'hono', 'fetch', 'fetch']
  for (const [index, name] of names.entries()) {
    const code = codesOf(html)[index] ?? ''
    assert.ok(code.includes(`from '@countersign/gateway/${name}'`), name)
    const [, literal = ''] = /gateway\((\{.*?\n\})\)/s.exec(code) ?? []
    assert.deepEqual(JSON.parse(runInNewContext(`JSON.stringify(${literal})`)), fileOf(html), name)
  }
  const downloads = [
    ...html.matchAll(/href="data:text\/plain;charset=utf-8,([^"]*)" download="([^"]*)"/g),
  ]
  const files = ['express.mjs', 'fastify.mjs', 'hono.mjs', 'worker.mjs', 'route.js', 'gateway.json']
  assert.deepEqual(
    downloads.map(([, data = '', name]) => [name, decodeURIComponent(unescaped(data))]),
    files.map((name, i) => [name, codesOf(html)[i]]),
  )
  const proxies = [...html.matchAll(/href="\/docs\/deploy\/([\w/.]+)" download="([\w.]+)"/g)]
  assert.equal(proxies.length, 6)
  for (const [, path = '', name] of proxies) {
    const file = await ask(service, `/docs/deploy/${path}`)
    assert.equal(file.text, readFileSync(join(ROOT, 'deploy', path), 'utf8'), path)
    assert.equal(file.headers.get('content-disposition'), `attachment; filename="${name}"`)
  }
  assert.equal((await ask(service, '/docs/deploy/nginx/service.conf')).status, 404)
  assert.equal((await ask(service, '/docs/deploy/none/countersign.conf')).status, 404)

  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const first = codesOf(await open(service, '/console'))
  // Here, so that the program finds the packages.
  const dir = mkdtempSync(join(import.meta.dirname, 'console-'))
  t.after(() => rmSync(dir, { recursive: true }))
  for (const [name, code = ''] of [
    ['worker.mjs', first[3]],
    ['route.mjs', first[4]],
  ] as const) {
    writeFileSync(join(dir, name), code)
    const program = await import(pathToFileURL(join(dir, name)).href)
    const handle = program.default?.fetch ?? program.GET
    const response = await handle(new Request(`${ORIGIN}/`, { headers: { ServiceID: did } }))
    assert.equal(response.status, 401, name)
  }
})
