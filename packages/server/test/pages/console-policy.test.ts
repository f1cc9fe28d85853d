import assert from 'node:assert/strict'
import { test } from 'node:test'
import { post } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { startSite } from '../../../../test/support/impostor.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { testNoteKey } from '../../../../test/support/test-log.ts'
import {
  callersOf,
  codesOf,
  faultsOf,
  fileOf,
  linkOf,
  ORIGIN,
  open,
  policyOf,
  send,
  wordsOf,
} from './support/console.ts'
import { textOf, unescaped } from './support/html.ts'

const STRANGER = `svc:agent:${'2'.repeat(24)}`
const IMPOSTORS = 'Anyone can name any agent. This configuration admits impostors.'
const REFUSED = 'Refused, 401'

test('the console decides on each kind of caller', async (t) => {
  const service = await startTestService(t)

  await t.test('at first, nobody is admitted who has proven nothing', async () => {
    const html = await open(service, '/console?utm_source=mail')
    assert.deepEqual(wordsOf(html), {
      stranger: REFUSED,
      header: REFUSED,
      signed: 'Allowed',
      unverified: 'Rate limited',
      suspended: 'Refused, 403',
      delegated: 'Refused, 403',
      replay: REFUSED,
    })
    assert.ok(!textOf(html).includes(IMPOSTORS))
  })

  await t.test('the presets: open reads with signed writes, and shadow mode', async () => {
    const reads = await send(service, '{}', { preset: 'reads' })
    assert.deepEqual(wordsOf(reads), {
      stranger: 'GET allowed; POST refused, 401',
      header: REFUSED,
      signed: 'Allowed',
      unverified: 'Rate limited',
      suspended: 'Refused, 403',
      delegated: 'Refused, 403',
      replay: REFUSED,
    })
    assert.ok(!textOf(reads).includes(IMPOSTORS))
    for (const method of ['PUT', 'DELETE', 'PROPFIND']) {
      const html = await send(service, policyOf(reads), { request: `${method} /orders` })
      assert.equal(wordsOf(html).stranger, REFUSED, method)
    }
    const watch = await send(service, '{}', { preset: 'watch' })
    assert.deepEqual(wordsOf(watch), {
      stranger: 'Would refuse, 401',
      header: 'Would refuse, 401',
      signed: 'Allowed',
      unverified: 'Rate limited',
      suspended: 'Would refuse, 403',
      delegated: 'Would refuse, 403',
      replay: 'Would refuse, 401',
    })
    assert.match(textOf(watch), new RegExp(`${IMPOSTORS} Shadow mode refuses nothing`))
    for (const code of codesOf(watch).slice(0, -1))
      assert.match(code, /onDecision: .*console\.log/s)
  })

  await t.test(
    'an agent by its DID, a key of a directory, and a service out of reach',
    async () => {
      const did = await claimAgent(service, await service.operator.addVerifiedOwner())
      const policy = {
        requireProof: true,
        deny: [did],
        directories: [{ url: 'https://bots.example' }],
        levels: { directory: 'allow' },
      }
      const html = await unchanged(service, () => send(service, policy, { agent: did.slice(-24) }))
      const { agent, header, directory } = callersOf(html)
      assert.deepEqual(agent?.reasons.slice(0, 2), ['deny-list', 'signature-proven'])
      assert.deepEqual(header?.reasons.slice(0, 2), ['deny-list', 'header-only'])
      assert.deepEqual(directory?.words, ['Allowed'])
      const away = { request: 'GET /', away: 'yes' }
      const stale = await send(service, { requireProof: true, unreachable: 'stale' }, away)
      assert.deepEqual(callersOf(stale).signed?.reasons, [
        'owner-verified',
        'answer-stale',
        'signature-proven',
      ])
      assert.equal(wordsOf(stale).header, REFUSED)
      assert.equal(
        wordsOf(await send(service, { requireProof: true }, away)).signed,
        'Refused, 503',
      )
    },
  )

  await t.test('the route whose rules apply', async () => {
    const routes = [{ path: '/a', methods: ['POST'] }, { path: '/a/*' }]
    for (const [request, words] of [
      ['POST /A/', /Rules routes\[0\] /],
      ['GET /a', /Rules routes\[1\] /],
      ['GET /b', /Rules Those of the policy /],
      ['GET /a%2Fb', /Rules The strictest of all/],
    ] as const) {
      assert.match(textOf(await send(service, { routes }, { request })), words)
    }
  })
})

const PATH_WORDS = '/exact or /prefix/*, as in the URL, without unnecessary percent-encoding.'

const REAL = {
  mode: 'shadow',
  levels: { none: 'allow', directory: 'limit' },
  minimumGrade: 'C',
  requireLogged: { policy: `log ${testNoteKey('id.example/log/1').verifierKey}\nquorum none` },
  allow: [STRANGER],
  requireProof: true,
  refusal: { status: 402, message: 'Ask the shop, “please” & <wait>.' },
  limit: { requests: 5, seconds: 1.5 },
  directories: [{ url: 'https://bots.example', profile: 'wba', maxLifetimeSeconds: 3600 }],
  routes: [
    { path: '/open/*', levels: { unknown: 'allow' }, minimumGrade: null, allow: [], refusal: null },
    { path: '/%C3%A9/*', methods: ['POST', 'PUT'], refusal: { message: 'No orders.' } },
  ],
}

test('the policy of the console is text', async (t) => {
  const service = await startTestService(t)

  await t.test('it is kept as written, and a link shows the same', async () => {
    const text = JSON.stringify(REAL, null, 3)
    const html = await send(service, text, { target: 'hono', away: 'yes' })
    assert.equal(policyOf(html), text)
    assert.deepEqual(fileOf(html), { service: service.url, audiences: [ORIGIN], policy: REAL })
    const linked = await open(service, linkOf(html))
    assert.deepEqual(JSON.parse(policyOf(linked)), REAL)
    assert.deepEqual(fileOf(linked), fileOf(html))
    assert.deepEqual(wordsOf(linked), wordsOf(html))
    assert.ok(/<input [^>]*id="target-hono"[^>]*checked/.test(linked))
    const again = await send(service, policyOf(linked))
    assert.deepEqual(fileOf(again), fileOf(html))
  })

  await t.test('the file of countersign-gateway is taken too', async () => {
    const file = {
      service: 'https://other.example',
      port: 8181,
      audiences: ['https://a.example', ORIGIN],
      policy: { mode: 'shadow' },
    }
    const html = await send(service, file, { origin: '' })
    assert.deepEqual(fileOf(html), {
      service: service.url,
      audiences: file.audiences,
      policy: file.policy,
    })
    assert.deepEqual(fileOf(await send(service, { policy: null, port: 1 }))?.policy, {})
    assert.deepEqual(fileOf(await send(service, 'null'))?.policy, {})
    const invalid = await send(service, '{"audiences": ["a"],\n"policy": {\n"mode": 1}}')
    assert.deepEqual(faultsOf(invalid), [
      '1: audiences[0] takes an origin such as https://shop.example.',
      '3: mode must be enforce or shadow.',
    ])
  })

  await t.test('each mistake is at its line, in the words of the gateway', async () => {
    const cases: [string, ...string[]][] = [
      ['{ mode: "shadow" }', '1: Enter a field in double quotes before mode'],
      [
        '{\n"mode": "shadow"\n"requireProof": true }',
        '3: Enter a comma or } before "requireProof"',
      ],
      ['{\n"allow": ["a" "b"] }', '2: Enter a comma or ] before "b"'],
      ['{\n"mode": tru }', '2: tru is not a JSON value.'],
      ['{"mode" "shadow"}', '1: Enter a colon before "shadow"'],
      ['{\n"mode": "a\tb" }', '2: "a\tb" is not a JSON value.'],
      ['{"mode": "shadow",}', '1: Enter a field in double quotes before }'],
      ['{}\n{}', '2: { comes after the end of the policy.'],
      ['{\n"routes": [\n', '2: The text ends before the policy does. Missing: ] }'],
      ['', '1: Enter a policy, such as { "requireProof": true }, of up to 32 KiB.'],
      [' '.repeat(33_000), '1: Enter a policy, such as { "requireProof": true }, of up to 32 KiB.'],
      ['{"mode": "shadow",\n"mode": "enforce"}', '2: “mode” is there twice.'],
      [`${'['.repeat(30_000)}`, '1: This is nested too deeply.'],
      ['[]', '1: policy must be an object.'],
      ['"service"', '1: policy must be an object.'],
      [
        '{"routes": [null]}',
        '1: routes[0] must be an object.',
        `1: routes[0].path must be ${PATH_WORDS}`,
      ],
      ['{"audiences": null, "policy": 5}', '1: policy must be an object.'],
      [
        '{"audiences": [{ "toString": 1 }]}',
        '1: audiences[0] takes an origin such as https://shop.example.',
      ],
      ['{\n"requireprof": true, "__proto__": 1,\n"constructor": 1 }'].concat([
        '2: requireprof is unknown.',
        '2: __proto__ is unknown.',
        '3: constructor is unknown.',
      ]) as [string, ...string[]],
      [
        '{ "levels": {\n"none": "maybe" },\n"limit": {\n"requests": "many" },\n"allow": [\n"me@shop"],\n"mode": "hide" }',
        '2: levels.none must be allow, limit or deny.',
        '4: limit.requests must be a number from 1 to 1000000.',
        '6: allow[0] must be a DID of the service or its 24 characters.',
        '7: mode must be enforce or shadow.',
      ],
      [
        '{ "routes": [\n{ "path": "/a" },\n{ "methods": [\n"post"] }] }',
        `3: routes[1].path must be ${PATH_WORDS}`,
        '4: routes[1].methods[0] must be a method such as GET.',
      ],
      [
        JSON.stringify({ routes: Array.from({ length: 41 }, () => ({ path: '/a' })) }),
        '1: The console takes up to 40 routes. The gateway takes more.',
      ],
    ]
    for (const [text, ...faults] of cases) {
      const html = await send(service, text)
      assert.deepEqual(faultsOf(html), faults, text.slice(0, 100))
      assert.equal(policyOf(html), text, 'what was entered is kept')
      assert.equal(fileOf(html), null)
      assert.ok(/<textarea id="policy"[^>]*aria-invalid="true"/.test(html))
    }
  })

  await t.test(
    'mistakes in other fields are at these fields, and no input runs as markup',
    async () => {
      const markup = '"><script>alert(1)</script>'
      const errorAt = (html: string, name: string) =>
        unescaped(new RegExp(`<p id="${name}-error"[^>]*>(.*?)</p>`).exec(html)?.[1] ?? '')
      const cases: [string, string, RegExp][] = [
        ['origin', '', /Enter the origin of your site/],
        ['origin', `${ORIGIN} ${markup}`, /Enter origins such as/],
        ['request', `https://${markup}/`, /Enter the complete URL/],
        ['request', 'G@T /', /Enter the method/],
        ['request', 'GET / now', /Enter a path/],
        ['agent', markup, /Enter the username or the DID/],
        ['agent', 'nobody-there', /No agent has this name/],
        ['headers', markup, /Line 1 is not a header line/],
      ]
      for (const [name, value, words] of cases) {
        const html = await send(service, { requireProof: true }, { [name]: value })
        assert.match(errorAt(html, name), words)
        assert.ok(!html.includes('<script>alert'), name)
      }
      assert.ok(!(await send(service, markup)).includes('<script>alert'))
      const named = await send(
        service,
        { refusal: { message: markup } },
        { headers: `A: ${markup}` },
      )
      assert.ok(!named.includes('<script>alert'))
      const token = `svc-verify-${'a'.repeat(40)}`
      const html = await send(service, {}, { agent: token })
      assert.match(errorAt(html, 'agent'), /That is a claim token/)
      const linked = await open(service, `/console?agent=${token}`)
      for (const text of [html, linked]) assert.ok(!text.includes(token), 'a secret is not shown')
    },
  )

  await t.test('links have no query and no captured request, and are not too long', async () => {
    const query = await send(service, {}, { request: '/orders?token=secret#secret' })
    assert.match(linkOf(query), /request=%2Forders$/)
    const captured = { headers: 'Cookie: secret', request: '/reset/secret' }
    assert.doesNotMatch(linkOf(await send(service, {}, captured)), /secret/)
    const deny = Array.from({ length: 300 }, () => STRANGER)
    const long = await send(service, { deny })
    assert.equal(linkOf(long), '')
    assert.match(textOf(long), /too long for a link/)
  })

  await t.test('trusted issuers are part of it, and none is contacted', async () => {
    const asked: string[] = []
    const issuer = await startSite(t, (request, response) => {
      asked.push(String(request.url))
      response.end()
    })
    const policy = { mode: 'shadow', trust: [{ issuer, didPrefix: 'acme:agent:' }] }
    assert.deepEqual(fileOf(await send(service, policy))?.policy, policy)
    assert.deepEqual(asked, [])
  })

  await t.test('the examples of all fields are valid', async () => {
    const html = await open(service, '/console')
    const examples = [...html.matchAll(/data-field="(\w+)" data-example="([^"]*)"/g)]
    assert.equal(examples.length, 25)
    const all = Object.fromEntries(
      examples.map(([, name, example = '']) => [name, JSON.parse(unescaped(example))]),
    )
    const { path, methods, ...policy } = all
    const routes = [...policy.routes, { path, methods }]
    assert.deepEqual(faultsOf(await send(service, { ...policy, routes })), [])
  })

  await t.test('it is limited', async () => {
    const form = 'application/x-www-form-urlencoded'
    const large = new URLSearchParams({ policy: 'x'.repeat(200_000) }).toString()
    assert.equal((await post(service, '/console', large, form)).status, 413)
    assert.equal((await post(service, '/console', '{}', 'application/json')).status, 415)
  })
})
