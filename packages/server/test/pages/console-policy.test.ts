import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { gateway } from '@countersign/gateway/fetch'
import { ask, post } from '../../../../test/support/ask.ts'
import { startSite } from '../../../../test/support/impostor.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { testNoteKey } from '../../../../test/support/test-log.ts'
import { textOf, unescaped } from './support/html.ts'

const FORM = 'application/x-www-form-urlencoded'
const ORIGIN = 'https://shop.example'
const STRANGER = `svc:agent:${'2'.repeat(24)}`
type Fields = Record<string, string>

async function send(service: TestService, fields: Fields): Promise<string> {
  const answer = await post(service, '/console', new URLSearchParams(fields).toString(), FORM)
  assert.equal(answer.status, 200, answer.text)
  return answer.text
}

async function open(service: TestService, path: string): Promise<string> {
  const answer = await ask(service, path)
  assert.equal(answer.status, 200, answer.text)
  return answer.text
}

/** What a browser would send of the form. */
function fieldsOf(html: string): Fields {
  const fields: Fields = {}
  const form = html.slice(html.indexOf('action="/console#result"'))
  for (const [, tag = ''] of form.matchAll(/<(?:input) ([^>]*)>/g)) {
    const [, name] = / ?name="([^"]*)"/.exec(tag) ?? []
    if (name === undefined || (tag.includes('type="checkbox"') && !tag.includes('checked')))
      continue
    fields[name] = unescaped(/ ?value="([^"]*)"/.exec(tag)?.[1] ?? '')
  }
  for (const [, name = '', text = ''] of form.matchAll(
    /<textarea [^>]*?name="([^"]*)"[^>]*>(.*?)<\/textarea>/gs,
  )) {
    fields[name] = unescaped(text.replace(/^\n/, ''))
  }
  for (const [, name = '', options = ''] of form.matchAll(
    /<select [^>]*?name="([^"]*)"[^>]*>(.*?)<\/select>/gs,
  )) {
    const [, value] = /<option value="([^"]*)" selected/.exec(options) ?? []
    fields[name] = unescaped(value ?? /<option value="([^"]*)"/.exec(options)?.[1] ?? '')
  }
  return fields
}

/** The file of countersign-gateway that the page shows; null if it shows none. */
function fileOf(html: string): { audiences?: string[]; policy?: object } | null {
  const texts = [...html.matchAll(/<pre tabindex="0"><code>(.*?)<\/code>/gis)]
  const text = texts.at(-1)?.[1]
  return text === undefined ? null : JSON.parse(unescaped(text))
}

/** What the page says above the form. */
function resultOf(html: string): string {
  return textOf(/<section id="result".*?<\/section>/s.exec(html)?.[0] ?? 'no result')
}

/** What is said next to a field. */
function errorAt(html: string, name: string): string | null {
  const [, text] =
    new RegExp(`<p id="${name.replaceAll('.', '\\.')}-error"[^>]*>(.*?)</p>`).exec(html) ?? []
  if (text === undefined) return null
  const field = new RegExp(
    `id="${name.replaceAll('.', '\\.')}"[^>]*aria-describedby="[^"]*${name}-error"`,
  )
  assert.match(html, field, 'the field refers to it')
  return textOf(text).trim()
}

const REAL = {
  mode: 'shadow',
  levels: { none: 'allow', directory: 'limit' },
  statuses: ['active', 'suspended'],
  minimumGrade: 'C',
  minimumKeyAgeSeconds: 259_200,
  requireLogged: { policy: `log ${testNoteKey('id.example/log/1').verifierKey}\nquorum none` },
  identityMethods: ['eid', 'github'],
  allow: [STRANGER],
  deny: [`svc:agent:${'3'.repeat(24)}`, `svc:agent:${'4'.repeat(24)}`],
  requireProof: true,
  refusal: { status: 402, message: 'Ask the shop, “please” & <wait>.' },
  unreachable: 'stale',
  maxStaleSeconds: 60,
  limit: { requests: 5, seconds: 1.5 },
  cacheSeconds: 0,
  preflight: 'decide',
  directories: [
    { url: 'https://bots.example', profile: 'wba', maxLifetimeSeconds: 3600 },
    { url: 'https://keys.example', profile: 'strict', maxLifetimeSeconds: 86_400 },
  ],
  routes: [
    {
      path: '/open/*',
      levels: { unknown: 'allow' },
      minimumGrade: null,
      requireLogged: null,
      identityMethods: null,
      allow: [],
      refusal: null,
    },
    {
      path: '/orders',
      methods: ['POST', 'PUT'],
      requireProof: false,
      refusal: { message: 'No orders.' },
    },
    { path: '/%C3%A9/*', statuses: [], deny: [], unreachable: 'flag', minimumKeyAgeSeconds: 0 },
  ],
}

test('a policy by form at the console', async (t) => {
  const service = await startTestService(t)

  await t.test(
    'is loaded from JSON, survives each way that a form is sent, and can be linked',
    async () => {
      const pasted = await send(service, {
        edit: 'load',
        json: JSON.stringify(REAL),
        origin: ORIGIN,
      })
      assert.deepEqual(fileOf(pasted)?.policy, REAL, resultOf(pasted))
      const again = await send(service, fieldsOf(pasted))
      assert.deepEqual(fileOf(again)?.policy, REAL, 'what is shown is what is sent')
      const [, link = ''] = /href="(\/console\?policy=[^"]*)"/.exec(again) ?? []
      const linked = await open(service, unescaped(link))
      assert.deepEqual(fileOf(linked), fileOf(again))
      assert.deepEqual(fieldsOf(linked), fieldsOf(again))

      const file = {
        service: 'https://other.example',
        port: 8181,
        audiences: ['https://a.example', ORIGIN],
        policy: { mode: 'shadow' },
      }
      const loaded = await send(service, { edit: 'load', json: JSON.stringify(file) })
      assert.deepEqual(fileOf(loaded), {
        service: service.url,
        audiences: file.audiences,
        policy: file.policy,
      })
    },
  )

  await t.test('leaves out trusted issuers, and connects to none', async () => {
    const asked: string[] = []
    const issuer = await startSite(t, (request, response) => {
      asked.push(String(request.url))
      response.end()
    })
    const policy = { mode: 'shadow', trust: [{ issuer, didPrefix: 'acme:agent:' }] }
    const json = JSON.stringify(policy)
    const page = await send(service, { edit: 'load', json, origin: ORIGIN })
    assert.match(page, /leaves out policy\.trust/)
    assert.deepEqual(asked, [])
  })

  await t.test('gets, moves and loses routes and directories, without script', async () => {
    let html = await open(service, '/console')
    const press = async (edit: string, fields: Fields = {}) => {
      html = await send(service, { ...fieldsOf(html), ...fields, edit })
    }
    await press('add routes')
    await press('add routes', { 'routes.0.path': '/a', 'routes.0.deny': STRANGER })
    await press('add routes', { 'routes.1.path': '/b/*', 'routes.1.requireProof': 'true' })
    await press('raise routes 1', { 'routes.2.path': '/c' })
    await press('lower routes 1')
    await press('remove routes 0')
    await press('raise routes 0')
    await press('lower routes 9')
    await press('add directories')
    await press('add directories', { 'directories.0.url': 'https://one.example' })
    await press('remove directories 0', { 'directories.1.url': 'https://two.example' })
    assert.equal(fileOf(html), null, 'a change decides nothing')
    html = await send(service, fieldsOf(html))
    assert.deepEqual(
      fileOf(html)?.policy,
      {
        directories: [
          { url: 'https://two.example', profile: 'strict', maxLifetimeSeconds: 86_400 },
        ],
        routes: [{ path: '/c' }, { path: '/a', deny: [STRANGER] }],
      },
      resultOf(html),
    )
    const most = await send(service, { ...fieldsOf(html), edit: 'add routes', routes: '9999' })
    assert.equal(fieldsOf(most).routes, '40')
  })

  await t.test('shows each mistake next to its field, in plain words', async () => {
    const cases: [Fields, field: string, RegExp][] = [
      [{ mode: 'hide' }, 'mode', /^“hide” must be enforce or shadow\.$/],
      [
        { 'limit.requests': 'many' },
        'limit.requests',
        /^“many” must be a number from 1 to 1000000\.$/,
      ],
      [
        { origin: `${ORIGIN} shop` },
        'origin',
        /^“shop” must be an origin such as https:\/\/shop\.example\.$/,
      ],
      [{ origin: '', requireProof: 'true' }, 'requireProof', /^Enter the origin of your site/],
      [
        { origin: '', directories: '1', 'directories.0.url': 'https://a.example' },
        'directories.0.url',
        /^Enter the origin/,
      ],
      [
        { directories: '1', 'directories.0.url': 'http://a.example' },
        'directories.0.url',
        /must be an https address/,
      ],
      [{ allow: `${STRANGER} me@shop` }, 'allow', /^“me@shop” must be a DID of the service/],
      [{ routes: '1' }, 'routes.0.path', /^Enter \/exact or \/prefix\/\*/],
      [
        {
          routes: '2',
          'routes.0.path': '/a',
          'routes.1.path': '/b',
          'routes.1.refusal.status': '500',
        },
        'routes.1.refusal.status',
        /^“500” must be 402, 403 or 404\.$/,
      ],
      [
        { 'requireLogged.policy': 'quorum none' },
        'requireLogged.policy',
        /^Is not a tlog-policy with a log and a quorum: it has no line "log"\.$/,
      ],
      [
        { routes: '1', 'routes.0.path': '/a', 'routes.0.levels.none': 'maybe' },
        'routes.0.levels.none',
        /^“maybe” must be allow, limit or deny\.$/,
      ],
    ]
    for (const [fields, field, words] of cases) {
      const html = await send(service, { origin: ORIGIN, ...fields })
      assert.match(errorAt(html, field) ?? 'nothing', words, field)
      assert.match(html, new RegExp(`<a href="#${field}"`), 'the summary leads to it')
      assert.equal(fieldsOf(html)[field], fields[field] ?? '', 'what was entered is kept')
      assert.equal(fileOf(html), null)
    }
  })

  await t.test('says what of a pasted policy is wrong, there or at the field', async () => {
    const load = (policy: unknown) =>
      send(service, {
        edit: 'load',
        origin: ORIGIN,
        json: typeof policy === 'string' ? policy : JSON.stringify(policy),
      })
    const cases: [unknown, field: string, RegExp][] = [
      ['{ mode: "shadow" }', 'json', /^This is not JSON: /],
      ['[]', 'json', /^policy must be an object\.$/],
      [{ requireprof: true }, 'json', /^policy\.requireprof is unknown\.$/],
      [{ requireProof: 'true' }, 'json', /^policy\.requireProof must be true or false\.$/],
      [
        { routes: [{ path: '/a', levels: 'deny' }] },
        'json',
        /^policy\.routes\[0\]\.levels must be an object\.$/,
      ],
      [
        { refusal: { message: 'two\nlines' } },
        'json',
        /^policy\.refusal\.message cannot be edited here/,
      ],
      [{ routes: Array.from({ length: 41 }, () => ({ path: '/a' })) }, 'json', /up to 40 routes/],
      [{ routes: [{ path: 'a' }] }, 'routes.0.path', /^“a” must be \/exact/],
      [{ __proto__: null, constructor: 1 }, 'json', /^policy\.constructor is unknown\.$/],
    ]
    for (const [policy, field, words] of cases) {
      const html = await load(policy)
      assert.match(errorAt(html, field) ?? 'nothing', words)
      assert.equal(fileOf(html), null, 'part of a policy is no configuration')
    }
  })

  await t.test('names the route whose rules apply', async () => {
    const routes = {
      routes: '2',
      'routes.0.path': '/a',
      'routes.0.methods': 'POST',
      'routes.1.path': '/a/*',
    }
    for (const [method, url, words] of [
      ['POST', '/A/', /Rules Route 1: POST \/a /],
      ['GET', '/a', /Rules Route 2: every method \/a\/\*/],
      ['GET', '/b', /Rules Those of the policy\. No route matches/],
      ['GET', '/a%2Fb', /Rules The strictest of all/],
    ] as const) {
      const html = await send(service, { ...routes, caller: 'none', method, url })
      assert.match(textOf(html), words)
    }
  })

  await t.test('decides for a sample agent, and leaves secrets out of links', async () => {
    const html = await send(service, {
      origin: ORIGIN,
      requireProof: 'true',
      minimumGrade: 'B',
      minimumKeyAgeSeconds: '86400',
      url: '/orders?token=secret#secret',
    })
    assert.match(textOf(html), /Allowed .*owner-verified.*The sample agent, which does not exist/)
    const [, link = ''] = /href="(\/console\?[^"]*)"/.exec(html) ?? []
    const query = new URL(unescaped(link), service.url).searchParams
    assert.deepEqual(
      [query.get('url'), query.get('caller'), query.get('method'), query.has('headers')],
      ['/orders', null, 'GET', false],
    )
    assert.match(
      textOf(await open(service, unescaped(link))),
      /GET https:\/\/shop\.example\/orders .*owner-verified/,
    )
    const captured = await send(service, {
      origin: ORIGIN,
      caller: 'pasted',
      url: `${ORIGIN}/reset/secret`,
      headers: 'Cookie: secret',
    })
    const [, policyLink = ''] = /href="(\/console\?[^"]*)"/.exec(captured) ?? []
    assert.doesNotMatch(policyLink, /secret|url|caller/)
    const deny = Array.from(
      { length: 300 },
      (_, i) =>
        `svc:agent:${'2'.repeat(22)}${'abcdefghijkmnopqrst'[i % 19]}${'abcdefghijkmnopqrst'[Math.trunc(i / 19)]}`,
    )
    assert.match(textOf(await send(service, { deny: deny.join('\n') })), /too long for a link/)
  })

  await t.test('decides as a gateway does whose service becomes unreachable', async (s) => {
    const did = await claimAgent(service, await service.operator.addVerifiedOwner(), newKey())
    let isAway = false
    const front = createServer(async (request, response) => {
      const answer = await fetch(`${service.url}${request.url}`)
      response.writeHead(isAway ? 502 : answer.status, { 'content-type': 'application/json' })
      response.end(isAway ? '' : await answer.text())
    })
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    s.after(() => front.close())
    s.after(() => front.closeAllConnections())
    const address = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
    for (const unreachable of ['deny', 'flag', 'allow', 'stale']) {
      const policy = { unreachable, cacheSeconds: '0', routes: '1', 'routes.0.path': '/x' }
      const page = await send(service, { ...policy, caller: 'header', agent: did, away: 'yes' })
      const shown = [...page.replaceAll('<!-- -->', '').matchAll(/>\(([a-z-]+)\)</g)].map(
        ([, code]) => code,
      )
      let reasons: string[] = []
      const handle = gateway({
        ...(fileOf(page) as object),
        service: address,
        issuer: service.url,
        onDecision: (decision) => {
          reasons = decision.reasons.map(({ code }) => code)
        },
      })(() => new Response('admitted'))
      const request = () => new Request(`${ORIGIN}/x`, { headers: { ServiceID: did } })
      isAway = false
      await handle(request())
      isAway = true
      const { status } = await handle(request())
      assert.deepEqual(shown, reasons, unreachable)
      assert.equal(textOf(page).includes('Refused'), status === 503, unreachable)
    }
  })
})
