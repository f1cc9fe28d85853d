import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, post } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { signedHeaders } from '../../../../test/support/sign-request.ts'
import { REQUEST_CHECKS } from '../../src/pages/check-request.ts'
import { textOf } from './support/html.ts'

const FORM = 'application/x-www-form-urlencoded'
const URL = 'https://shop.example/orders?page=2'

function lines(headers: readonly (readonly [string, string])[]): string {
  return headers.map(([name, value]) => `${name}: ${value}`).join('\r\n')
}

async function check(service: TestService, fields: Record<string, string>): Promise<string> {
  const body = new URLSearchParams({ method: 'GET', url: URL, ...fields }).toString()
  const answer = await unchanged(service, () => post(service, '/check/request', body, FORM))
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.ok(answer.text.includes('action="/check/request#result"'), 'no input is in the address')
  return answer.text
}

/** The word of each check, in order. */
function outcomes(html: string): string[] {
  return [
    ...textOf(html).matchAll(/\d+\. .*? (Passed|Failed|Undecided|Not reached|Not checked)(?= |$)/g),
  ].map(([, word = '']) => word)
}

/** As many checks have passed as come before the one at this index, and those after it were not reached. */
function stoppedAt(index: number, word = 'Failed'): string[] {
  return REQUEST_CHECKS.map((_, i) => (i < index ? 'Passed' : i === index ? word : 'Not reached'))
}

test('a signed request passes every check, but for the nonce, which only the site can check', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const headers = lines(await signedHeaders(service, did, key, { url: URL }))
  for (const text of [headers, `> ${headers.replaceAll('\r\n', '\r\n> ')}`]) {
    const html = await check(service, { headers: text })
    assert.match(textOf(html), /Verified The agent signed this request/)
    assert.deepEqual(outcomes(html), [...Array(10).fill('Passed'), 'Not checked', 'Passed'])
    assert.ok(html.includes(`href="/agent/${did}"`))
  }
  const twice = await check(service, { headers })
  assert.match(textOf(twice), /Verified/, 'no nonce is recorded')
})

test('the body is compared with Content-Digest, also with the line ends of a form', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  for (const body of ['{"a":1,\n"b":"é"}', 'a\r\nb']) {
    const method = 'POST'
    const sent = [['Content-Length', String(Buffer.byteLength(body))] as const]
    const headers = lines(
      await signedHeaders(service, did, key, { method, url: URL, body, headers: sent }),
    )
    const asAFormSendsIt = body.replaceAll(/\r?\n/g, '\r\n')
    const good = await check(service, { method, headers, body: asAFormSendsIt })
    assert.equal(outcomes(good).at(-1), 'Passed')
    assert.equal(outcomes(await check(service, { method, headers })).at(-1), 'Not checked')
    const changed = await check(service, { method, headers, body: `${asAFormSendsIt}!` })
    assert.match(textOf(changed), /Invalid Refuse this request\. The body does not match/)
    assert.deepEqual(outcomes(changed), stoppedAt(11).with(10, 'Not checked'))
  }
})

test('the check that fails is named with its reason, and those after it were not reached', async (t) => {
  const service = await startTestService(t)
  const [key, other] = [newKey(), newKey()]
  const owner = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, owner, key)
  const another = await claimAgent(service, owner, other, 'other')
  const signed = (more: object = {}) => signedHeaders(service, did, key, { url: URL, ...more })
  const fresh = lines(await signed())
  const stranger = lines(await signedHeaders(service, did, newKey(), { url: URL }))
  const named = lines(await signed({ headers: [['ServiceID', another]] }))
  const cases: [string, Record<string, string>, number, RegExp][] = [
    ['no signature', { headers: 'Host: shop.example' }, 0, /no Web Bot Auth signature/],
    [
      'a field twice',
      { headers: `${fresh}\r\nSignature-Agent: sig1="https://x.example"` },
      1,
      /cannot be parsed/,
    ],
    [
      'another site',
      { headers: fresh, audience: 'https://bank.example' },
      2,
      /sent to another site/,
    ],
    ['plain http', { headers: fresh, url: URL.replace('https', 'http') }, 2, /plain http/],
    [
      'a dot segment',
      { headers: fresh, url: 'https://shop.example/x/../orders' },
      3,
      /normalized form/,
    ],
    ['an unsigned body', { method: 'POST', headers: fresh }, 4, /does not cover everything/],
    [
      'an old signature',
      { headers: lines(await signed({ createdAt: Date.now() - 3_600_000 })) },
      5,
      /has expired/,
    ],
    [
      'another path',
      { headers: fresh, url: URL.replace('orders', 'admin') },
      7,
      /did not sign this request/,
    ],
    ['another agent', { headers: named }, 8, /names another agent/],
  ]
  for (const [name, fields, index, words] of cases) {
    await t.test(name, async () => {
      const html = await check(service, fields)
      assert.match(textOf(html), words)
      assert.deepEqual(outcomes(html), stoppedAt(index, index === 0 ? 'Undecided' : 'Failed'))
      assert.doesNotMatch(textOf(html), /Verified The agent/)
    })
  }
  const unknown = await check(service, { headers: stranger })
  assert.match(textOf(unknown), /Not verified This request proves nothing/)
  assert.deepEqual(outcomes(unknown), stoppedAt(6, 'Undecided'))

  await setStatus(service, did, 'revoked')
  const revoked = await check(service, { headers: fresh })
  assert.match(textOf(revoked), /certificate of this agent is revoked/)
  assert.deepEqual(outcomes(revoked), stoppedAt(9))
})

test('input that is no request is refused in plain words, and none of it runs as markup', async (t) => {
  const service = await startTestService(t)
  const markup = '"><script>alert(1)</script>'
  const cases: [Record<string, string>, RegExp][] = [
    [{ method: `GET ${markup}` }, /Enter the method/],
    [{ url: '/orders' }, /Enter the complete URL/],
    [{ url: `https://${markup}/` }, /Enter the complete URL/],
    [{ url: `https://shop.example/${'a'.repeat(9000)}` }, /Enter the complete URL/],
    [{ headers: 'Host: shop.example\nGET /orders HTTP/1.1' }, /Line 2 is not a header line/],
    [{ headers: `X: y\n${markup}` }, /Line 2 is not a header line/],
    [{ headers: 'X: y\n'.repeat(201) }, /more than 200 header lines/],
    [{ audience: markup }, /audience must be an origin/],
    [{ headers: `X: ${markup}`, body: markup }, /no Web Bot Auth signature/],
  ]
  for (const [fields, words] of cases) {
    const html = await check(service, fields)
    assert.match(textOf(html), words)
    assert.ok(!html.includes('<script>alert'), words.source)
    assert.doesNotMatch(textOf(html), /Verified The agent/)
  }
  const large = new URLSearchParams({ headers: 'x'.repeat(200_000) }).toString()
  assert.equal((await post(service, '/check/request', large, FORM)).status, 413)
  const { status, text } = await ask(service, '/check/request')
  assert.equal(status, 200)
  assert.deepEqual(outcomes(text), [])
})
