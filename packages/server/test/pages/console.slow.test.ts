import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { agentOf, gateway } from '@countersign/gateway/fetch'
import { unverify } from '../../../../test/support/agents.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { signedHeaders } from '../../../../test/support/sign-request.ts'
import { textOf, unescaped } from './support/html.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const FORM = 'application/x-www-form-urlencoded'
const ORIGIN = 'https://shop.example'
type Fields = Readonly<Record<string, string>>

async function decideAt(service: TestService, fields: Fields): Promise<string> {
  const body = new URLSearchParams({ origin: ORIGIN, ...fields }).toString()
  const answer = await unchanged(service, () => post(service, '/console', body, FORM))
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.ok(answer.text.includes('action="/console#result"'), 'no input is in the address')
  return answer.text
}

/** The texts of the code blocks: the code of four frameworks, and the file of countersign-gateway. */
function configurations(html: string): string[] {
  return [...html.matchAll(/<pre tabindex="0"><code>(.*?)<\/code>/gis)].map(([, text = '']) =>
    unescaped(text),
  )
}

function fileOf(html: string): { service: string; audiences?: string[]; policy?: object } {
  return JSON.parse(configurations(html).at(-1) ?? '')
}

/** What the page shows of a decision: its title, the codes of its reasons, and the headers or the response. */
function shown(html: string): { title: string; reasons: string[]; lines: string[] } {
  const text = html.slice(html.indexOf('id="result"'), html.indexOf('aria-label="Configuration"'))
  const [, title = ''] = /<p class="text-2xl[^>]*>(.*?)<\/p>/.exec(text) ?? []
  const reasons = [...text.replaceAll('<!-- -->', '').matchAll(/>\(([a-z-]+)\)</g)]
  const lines = [...text.matchAll(/<code class="block[^>]*>(.*?)<\/code>/g)]
  return {
    title,
    reasons: reasons.map(([, code = '']) => code),
    lines: lines.map(([, line = '']) => unescaped(line.replaceAll('<!-- -->', ''))),
  }
}

/** What a gateway decides, as `shown` has it. */
async function decideByGateway(
  service: TestService,
  { audiences, policy }: ReturnType<typeof fileOf>,
  request: Request,
): Promise<{ title: string; reasons: string[]; lines: string[] }> {
  let passed: Request | null = null
  let reasons: string[] = []
  const handle = gateway({
    service: service.url,
    ...(audiences && { audiences }),
    ...(policy && { policy }),
    onDecision: (decision) => {
      reasons = decision.reasons.map(({ code }) => code)
    },
  })((each: Request) => {
    passed = each
    return new Response()
  })
  const response = await handle(request)
  if (passed === null) {
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`)
    return { title: 'Refused', reasons, lines: [`status: ${response.status}`, ...headers] }
  }
  const { action, mode } = agentOf(passed)
  const title = mode === 'shadow' ? 'Admitted: shadow mode' : TITLES[action]
  const lines = [...(passed as Request).headers].filter(([name]) => name.startsWith('x-serviceid-'))
  return { title: title ?? action, reasons, lines: lines.map((each) => each.join(': ')) }
}

const TITLES: Readonly<Record<string, string>> = {
  allow: 'Allowed',
  limit: 'Allowed within the rate limit',
}

function comparable(outcome: { title: string; reasons: string[]; lines: string[] }) {
  const lines = outcome.lines.map((line) => line.replace(/^[^:]*/, (name) => name.toLowerCase()))
  return { ...outcome, lines: lines.toSorted() }
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
  const orders: Fields = {
    'levels.none': 'allow',
    routes: '1',
    'routes.0.path': '/orders/*',
    'routes.0.methods': 'get',
    'routes.0.requireProof': 'true',
    'routes.0.levels.none': 'deny',
    'routes.0.levels.unverified': 'deny',
    'routes.0.refusal.status': '402',
  }
  const several: Fields = {
    deny: dids.revoked,
    'refusal.message': 'Ask the shop for access.',
    routes: '3',
    'routes.0.path': '/orders/8',
    'routes.0.levels.none': 'allow',
    'routes.1.path': '/orders/*',
    'routes.1.methods': 'POST, GET',
    'routes.1.allow': `${dids.unverified.slice(-24)}\r\n${dids.revoked}`,
    'routes.1.deny': 'none',
    'routes.1.statuses': 'active, revoked',
    'routes.1.minimumKeyAgeSeconds': '86400',
    'routes.1.refusal.status': '404',
    'routes.2.path': '/*',
  }
  const policies: Record<string, Fields> = {
    'the default': {},
    'proof, and a route': { requireProof: 'true', ...orders },
    'a grade in shadow mode': { mode: 'shadow', minimumGrade: 'A', 'levels.unknown': 'allow' },
    'the second of several routes, lists of agents, and a young key': several,
    'an allow list of a route without proof': { ...several, 'routes.1.minimumKeyAgeSeconds': '' },
    'other providers, several origins': {
      identityMethods: 'eid',
      origin: `https://a.example ${ORIGIN}`,
    },
    'no signatures': { origin: '', 'levels.unverified': 'allow' },
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
        const html = await decideAt(service, { ...policy, caller: 'pasted', url, headers: lines })
        const sent = new Request(url, { headers: headers as [string, string][] })
        const decided = await decideByGateway(service, fileOf(html), sent)
        assert.deepEqual(comparable(shown(html)), comparable(decided), lines)
      }
    })
  }
})

test('it signs, signs in or names an agent, and simulates an unreachable service', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), newKey())
  const tail = did.slice(-24)
  const strict = { requireProof: 'true', agent: tail }
  const cases: [Fields, string, string[], RegExp][] = [
    [
      { ...strict, caller: 'signature' },
      'Allowed',
      ['owner-verified', 'signature-proven'],
      /X-ServiceID-Proof: signature .*temporary key/,
    ],
    [
      { ...strict, caller: 'session' },
      'Allowed',
      ['owner-verified', 'session-proven'],
      /X-ServiceID-Proof: session/,
    ],
    [
      { ...strict, caller: 'header' },
      'Refused',
      ['proof-required', 'header-only'],
      /status 401.*accept-signature: sig1=/,
    ],
    [{ caller: 'none' }, 'Refused', ['no-identification'], /status 401/],
    [
      {
        caller: 'directory',
        directories: '1',
        'directories.0.url': 'https://bots.example',
        'levels.directory': 'allow',
      },
      'Allowed',
      ['directory-signed'],
      /X-ServiceID-Directory: https:\/\/bots\.example/,
    ],
    [
      { caller: 'header', agent: did, away: 'yes' },
      'Refused',
      ['service-unreachable', 'header-only'],
      /status 503/,
    ],
    [
      // The answer that the gateway has from before does not count towards the limit.
      {
        ...strict,
        caller: 'signature',
        away: 'yes',
        unreachable: 'stale',
        'limit.requests': '1',
        'levels.verified': 'limit',
      },
      'Allowed within the rate limit',
      ['owner-verified', 'answer-stale', 'signature-proven'],
      /Up to 1 requests? in 60 seconds/,
    ],
  ]
  for (const [fields, title, reasons, words] of cases) {
    const html = await decideAt(service, fields)
    const outcome = shown(html)
    assert.deepEqual([outcome.title, outcome.reasons], [title, reasons], JSON.stringify(fields))
    assert.match(textOf(html), words)
  }
})

test('each configuration has only what differs from the defaults', async (t) => {
  const service = await startTestService(t)
  const plain = await decideAt(service, {})
  assert.deepEqual(fileOf(plain), { service: service.url, audiences: [ORIGIN] })
  const html = await decideAt(service, {
    mode: 'enforce',
    'levels.none': 'allow',
    'levels.verified': 'allow',
    'limit.requests': '60',
    'limit.seconds': '10',
    routes: '1',
    'routes.0.path': "/it's/*",
    'routes.0.methods': 'post, PUT',
    'routes.0.requireProof': 'true',
    'routes.0.levels.none': 'allow',
    'routes.0.refusal.status': '404',
  })
  const policy = {
    limit: { seconds: 10 },
    levels: { none: 'allow' },
    routes: [
      {
        path: "/it's/*",
        methods: ['POST', 'PUT'],
        requireProof: true,
        refusal: { status: 404 },
      },
    ],
  }
  assert.deepEqual(fileOf(html), { service: service.url, audiences: [ORIGIN], policy })
  const codes = configurations(html).slice(0, -1)
  assert.equal(codes.length, 4)
  for (const [index, name] of ['express', 'fastify', 'hono', 'fetch'].entries()) {
    const code = codes[index] ?? ''
    assert.ok(code.includes(`from '@countersign/gateway/${name}'`), name)
    const [, literal = ''] = /gateway\((\{.*?\n\})\)/s.exec(code) ?? []
    assert.deepEqual(JSON.parse(runInNewContext(`JSON.stringify(${literal})`)), fileOf(html), name)
  }
  assert.equal(html.match(/data-copy=""/g)?.length, 5)
  const downloads = [
    ...html.matchAll(/href="data:text\/plain;charset=utf-8,([^"]*)" download="([^"]*)"/g),
  ]
  assert.deepEqual(
    downloads.map(([, data = '', name]) => [name, decodeURIComponent(unescaped(data))]),
    ['express.mjs', 'fastify.mjs', 'hono.mjs', 'worker.mjs', 'gateway.json'].map((name, i) => [
      name,
      configurations(html)[i],
    ]),
  )
  const files = [...html.matchAll(/href="\/docs\/deploy\/([\w/.]+)" download="([\w.]+)"/g)]
  assert.equal(files.length, 6)
  for (const [, path = '', name] of files) {
    const file = await ask(service, `/docs/deploy/${path}`)
    assert.equal(file.text, readFileSync(join(ROOT, 'deploy', path), 'utf8'), path)
    assert.equal(file.headers.get('content-disposition'), `attachment; filename="${name}"`)
  }
  assert.equal((await ask(service, '/docs/deploy/nginx/service.conf')).status, 404)
  assert.equal((await ask(service, '/docs/deploy/none/countersign.conf')).status, 404)
})

test('a policy that the gateway refuses is refused in its words, and no input runs as markup', async (t) => {
  const service = await startTestService(t)
  const markup = '"><script>alert(1)</script>'
  const valid = { caller: 'none' }
  const cases: [Fields, RegExp][] = [
    [{ ...valid, 'routes.0.path': `/${markup}`, routes: '1' }, /Refused/],
    [{ ...valid, url: `https://${markup}/` }, /Enter the complete URL/],
    [{ ...valid, method: markup }, /Enter the method/],
    [{ caller: 'pasted', headers: markup }, /Line 1 is not a header line/],
    [{ caller: 'pasted', headers: `ServiceID: ${markup}` }, /identification-unreadable/],
    [{ caller: 'pasted' }, /Paste the headers/],
    [{ caller: 'header', agent: markup }, /Enter the username or the DID/],
    [{ caller: 'header', agent: 'nobody-there' }, /No agent has this name/],
    [{ caller: 'directory' }, /Enter a key directory/],
  ]
  for (const [fields, words] of cases) {
    const html = await decideAt(service, fields)
    assert.match(textOf(html), words)
    assert.ok(!html.includes('<script>alert'), words.source)
  }
  const token = `svc-verify-${'a'.repeat(40)}`
  const html = await decideAt(service, { caller: 'header', agent: token })
  assert.match(textOf(html), /That is a claim token/)
  assert.ok(!html.includes(token), 'a secret is not shown')
  const linked = await ask(service, `/console?caller=header&agent=${token}`)
  assert.ok(!linked.text.includes(token), 'nor one out of the address')
  const large = new URLSearchParams({ headers: 'x'.repeat(200_000) }).toString()
  assert.equal((await post(service, '/console', large, FORM)).status, 413)
  assert.equal((await post(service, '/console', '{}', 'application/json')).status, 415)
  const { status, text } = await ask(service, '/console?utm_source=mail')
  assert.equal(status, 200)
  assert.ok(!text.includes('id="result"'), 'nothing is decided before anything is entered')
})
