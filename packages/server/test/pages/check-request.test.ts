import assert from 'node:assert/strict'
import { test } from 'node:test'
import { post } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { signedHeaders } from '../../../../test/support/sign-request.ts'
import {
  check,
  checkText,
  linesOf,
  open,
  outcomesOf,
  partsOf,
  rawRequest,
  requestOf,
  stopOf,
  URL_OF_ORDERS as url,
  verdictOf,
} from './support/check-request.ts'
import { textOf } from './support/html.ts'

test('the page opens with a sample that is valid now, and each way to break it fails another check', async (t) => {
  let ahead = 0
  const service = await startTestService(t, {}, () => Date.now() + ahead)
  const html = await open(service)
  assert.match(verdictOf(html), /^Verified The sample agent signed this request/)
  const { nonce, ...others } = outcomesOf(html)
  assert.equal(nonce, 'unchecked')
  assert.deepEqual([...new Set(Object.values(others))], ['passed'])
  assert.match(checkText(html, 'times'), /Created \d\d:\d\d:\d\d, expires \d\d:\d\d:\d\d, now/)
  assert.match(checkText(html, 'components'), /Covered: @method, @authority, @path, @query/)
  assert.match(checkText(html, 'signature'), /"@method": POST "@authority": shop.example/)
  const covers = new Map(partsOf(html).map(([cover, text]) => [text, cover]))
  assert.equal(covers.get('/orders'), 'signed')
  assert.equal(covers.get('sample-agent/1.0'), 'unsigned')
  assert.equal(covers.get('{"item":"teapot","quantity":1}'), 'signed')

  const sample = requestOf(html)
  const broken: Record<string, [string, RegExp]> = {
    path: ['signature failed', /The path was \/orders, and is \/admin now/],
    age: ['times failed', /now \d\d:\d\d:\d\d UTC/],
    replay: ['nonce failed', /was used before/],
    header: ['components failed', /does not cover authorization/],
    key: ['signature failed', /keyid names another key now/],
  }
  for (const [name, [stop, words]] of Object.entries(broken)) {
    const page = await check(service, sample, { break: name })
    assert.equal(stopOf(page), stop)
    assert.match(verdictOf(page), /^Invalid Refuse this request/)
    assert.match(textOf(page), words)
    assert.equal(requestOf(page), sample, 'the request itself stays')
  }
  assert.match(verdictOf(await check(service, sample)), /^Verified/)
  ahead = 61_000
  assert.equal(stopOf(await check(service, sample)), 'times failed')
})

test('a curl command, raw HTTP, a HAR entry, JSON and headers are the same request', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const body = '{"a":"it’s","b":1}'
  const sent = [['Content-Type', 'application/json']] as const
  const [, ...headers] = await signedHeaders(service, did, key, {
    method: 'POST',
    url,
    body,
    headers: sent,
  })
  const lines = linesOf(headers)
  const options = lines.map((line) => `-H '${line}'`).join(' \\\n  ')
  const har = {
    method: 'POST',
    url,
    headers: [[':method', 'POST'], ...headers].map(([name, value]) => ({ name, value })),
    postData: { text: body },
  }
  const unsigned = { request: { method: 'GET', url, headers: [] } }
  const raw = ['Host: shop.example', ...lines, '', body].join('\r\n')
  const pasted: Record<string, string> = {
    curl: `curl -sS --compressed '${url}' \\\n  ${options} --data-raw $'{"a":"it\\u2019s","b":1}'`,
    'curl with words together': `$ curl -XPOST ${options} --data-binary "${body.replaceAll('"', '\\"')}" ${url.replaceAll('?', '\\?')} | jq .`,
    'raw HTTP': `POST /orders?page=2 HTTP/1.1\r\n${raw}`,
    'an absolute target': `POST ${url}\n${raw}`,
    'curl -v': `* Connected\n> POST /orders?page=2 HTTP/2\n> Host: shop.example\n${lines.map((line) => `> ${line}`).join('\n')}\n>\n< HTTP/2 200`,
    'a HAR entry': JSON.stringify({ startedDateTime: 'x', request: har, response: {} }),
    'a HAR file': JSON.stringify({ log: { entries: [unsigned, { request: har }] } }),
    'the request of a HAR entry': JSON.stringify(har, null, 2),
    'JSON of countersign sign-request': JSON.stringify({ method: 'POST', url, headers }),
    'headers of HTTP/2': [
      ':method: POST',
      ':path: /orders?page=2',
      ':authority: shop.example',
      ':scheme: https',
      ...lines,
    ].join('\n'),
  }
  for (const [name, text] of Object.entries(pasted)) {
    await t.test(name, async () => {
      const html = await check(service, text)
      assert.match(verdictOf(html), /^Verified The agent signed/, JSON.stringify(outcomesOf(html)))
      assert.ok(html.includes(`href="/agent/${did}"`))
      const hasBody = text.includes('"b') || text.includes('\\"b')
      assert.equal(outcomesOf(html).body, hasBody ? 'passed' : 'unchecked', name)
    })
  }
  const alone = lines.join('\n')
  for (const line of [`POST ${url}`, 'POST /orders?page=2']) {
    const html = await check(service, `Host: shop.example\n${alone}`, { line })
    assert.match(verdictOf(html), /^Verified/)
  }
  assert.match(verdictOf(await check(service, alone)), /Enter the method and the URL/)
})

test('the body is compared with Content-Digest, also with the line ends of a form', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  for (const body of ['{"a":1,\n"b":"é"}', 'a\r\nb', 'ends in a line end\n']) {
    const method = 'POST'
    const headers = await signedHeaders(service, did, key, { method, url, body })
    const asAFormSendsIt = body.replaceAll(/\r?\n/g, '\r\n')
    const good = await check(service, rawRequest(headers, { method, body: asAFormSendsIt }))
    assert.equal(outcomesOf(good).body, 'passed', body)
    const length = [...headers, ['Content-Length', String(Buffer.byteLength(body))] as const]
    const without = await check(service, rawRequest(length, { method }))
    assert.equal(outcomesOf(without).body, 'unchecked')
    const changed = await check(
      service,
      rawRequest(headers, { method, body: `${asAFormSendsIt}!` }),
    )
    assert.equal(stopOf(changed), 'body failed')
    assert.match(verdictOf(changed), /The body does not match/)
    assert.equal(partsOf(changed).at(-1)?.[0], 'unsigned')
  }
})

test('the check that fails is named with its reason, and those after it were not reached', async (t) => {
  const service = await startTestService(t)
  const [key, other] = [newKey(), newKey()]
  const owner = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, owner, key)
  const another = await claimAgent(service, owner, other, 'other')
  const signed = (more: object = {}) => signedHeaders(service, did, key, { url, ...more })
  const fresh = await signed()
  const twice = [...fresh, ['Signature-Agent', 'sig1="https://x.example"'] as const]
  const of = (headers: typeof fresh, target?: string) =>
    rawRequest(headers, target === undefined ? {} : { target })
  const cases: [string, string, Record<string, string>, string, RegExp][] = [
    ['no signature', 'GET https://shop.example/', {}, 'limits undecided', /no Web Bot Auth sig/],
    ['a field twice', of(twice), {}, 'syntax failed', /is no dictionary|is repeated|cannot be/],
    [
      'a damaged field',
      of(fresh).replace(/Signature-Input: /i, 'Signature-Input: ('),
      {},
      'syntax failed',
      /Signature-Input is no dictionary: a key is expected at offset 0/,
    ],
    [
      'another site',
      of(fresh),
      { origin: 'https://bank.example' },
      'authority failed',
      /sent to another site/,
    ],
    ['plain http', of(fresh, url.replace('https', 'http')), {}, 'authority failed', /plain http/],
    ['a dot segment', of(fresh, '/x/../orders'), {}, 'path failed', /normalized form/],
    [
      'an unsigned body',
      rawRequest(fresh, { method: 'POST' }),
      {},
      'components failed',
      /does not cover content-digest/,
    ],
    [
      'an old signature',
      of(await signed({ createdAt: Date.now() - 3_600_000 })),
      {},
      'times failed',
      /has expired/,
    ],
    ['another path', of(fresh, '/admin?page=2'), {}, 'signature failed', /did not sign this/],
    [
      'another agent',
      of(await signed({ headers: [['ServiceID', another]] })),
      {},
      'identification failed',
      /names another agent/,
    ],
    [
      'another key',
      of(await signedHeaders(service, did, newKey(), { url })),
      {},
      'key undecided',
      /keyid is not its current key/,
    ],
  ]
  for (const [name, request, fields, stop, words] of cases) {
    await t.test(name, async () => {
      const html = await check(service, request, fields)
      assert.match(verdictOf(html), words)
      assert.equal(stopOf(html), stop)
      const outcomes = Object.values(outcomesOf(html))
      const at = outcomes.findIndex((each) => each === 'failed' || each === 'undecided')
      assert.deepEqual(new Set(outcomes.slice(at + 1)), new Set(['not-reached']))
      assert.doesNotMatch(verdictOf(html), /^Verified/)
    })
  }
  await setStatus(service, did, 'revoked')
  const revoked = await check(service, of(fresh))
  assert.match(verdictOf(revoked), /certificate of this agent is revoked/)
  assert.equal(stopOf(revoked), 'status failed')
})

test('a pasted key verifies a signer that nobody knows, and only with its keyid', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const signatureAgent = { dialect: 'origin', url: 'https://bots.example' } as const
  const did = `svc:agent:${'2'.repeat(24)}`
  const request = rawRequest(await signedHeaders(service, did, key, { url, signatureAgent }))
  const jwk = {
    kty: 'OKP',
    crv: 'Ed25519',
    x: Buffer.from(key.publicKey, 'base64').toString('base64url'),
  }
  const der = Buffer.concat([
    Buffer.from('302a300506032b6570032100', 'hex'),
    Buffer.from(key.publicKey, 'base64'),
  ]).toString('base64')
  const forms = [
    key.publicKey,
    JSON.stringify(jwk),
    JSON.stringify({ keys: [{ kty: 'RSA' }, jwk] }),
    `-----BEGIN PUBLIC KEY-----\r\n${der}\r\n-----END PUBLIC KEY-----\r\n`,
  ]
  for (const pasted of forms) {
    const html = await check(service, request, { key: pasted })
    assert.match(verdictOf(html), /^Verified The holder of the key/, pasted)
    assert.match(verdictOf(html), /has not certified the signer/)
    assert.equal(outcomesOf(html).status, 'unchecked')
    assert.match(checkText(html, 'key'), /the key that you pasted/)
  }
  const other = await check(service, request, { key: newKey().publicKey })
  assert.equal(stopOf(other), 'key undecided')
  for (const none of [
    'nonsense',
    '{"keys":[]}',
    '{',
    'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
  ]) {
    assert.match(verdictOf(await check(service, request, { key: none })), /no usable Ed25519/)
  }
  // The key of an agent that is pasted says nothing about its certificate.
  const agent = newKey()
  const known = await claimAgent(service, await service.operator.addVerifiedOwner(), agent)
  const named = rawRequest(await signedHeaders(service, known, newKey(), { url }))
  assert.doesNotMatch(verdictOf(await check(service, named, { key: agent.publicKey })), /^Verified/)
})

test('input that is no request is refused in plain words, and none of it runs as markup', async (t) => {
  const service = await startTestService(t)
  const markup = '"><script>alert(1)</script>'
  const cases: [string, Record<string, string>, RegExp][] = [
    ['', {}, /Paste a request/],
    [`GET ${markup}`, {}, /Host header is missing|complete URL|not a header/],
    ['GET /orders', {}, /Host header is missing/],
    [`GET https://${markup}/`, {}, /complete URL/],
    ['GET https://user:secret@shop.example/', {}, /user name and the password/],
    [`GET https://shop.example/${'a'.repeat(9000)}`, {}, /complete URL/],
    ['Host: shop.example\nnot a header', {}, /Line 2 is not a header line/],
    [`GET https://a.example/\nX: y\n${markup}`, {}, /Line 3 is not a header line/],
    [`GET https://a.example/\n${'X: y\n'.repeat(201)}`, {}, /more than 200 header lines/],
    ['GET https://a.example/', { origin: markup }, /Enter an origin/],
    ['GET https://a.example/', { at: markup }, /Enter a time in UTC/],
    ['GET https://a.example/', { at: '2026-13-45T00:00:00Z' }, /Enter a time in UTC/],
    ['{"log":', {}, /not JSON/],
    ['[null]', {}, /no request with a method/],
    ['curl', {}, /Enter the method|no URL/],
    ['curl -F a=b https://a.example/', {}, /option -F of curl is not known/],
    ['curl --constructor a https://a.example/', {}, /--constructor of curl is not known/],
    ['curl -d @file https://a.example/', {}, /is in a file/],
    [`GET https://a.example/\nX: ${markup}\n\n${markup}`, {}, /no Web Bot Auth signature/],
    [
      `GET https://a.example/\nSignature-Input: ${'('.repeat(8000)}`,
      {},
      /cannot be|no diction|missing/,
    ],
  ]
  for (const [request, fields, words] of cases) {
    const html = await check(service, request, fields)
    assert.match(verdictOf(html), words)
    assert.ok(!html.includes('<script>alert'), words.source)
    assert.doesNotMatch(verdictOf(html), /^Verified/)
  }
  const large = new URLSearchParams({ request: 'x'.repeat(400_000) }).toString()
  const form = 'application/x-www-form-urlencoded'
  assert.equal((await post(service, '/check/request', large, form)).status, 413)
})
