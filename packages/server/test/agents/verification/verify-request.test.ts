import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { agentKeySetUrl, type HeaderList, keyThumbprint } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { startSite } from '../../../../../test/support/impostor.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import { replaceKey } from '../../../../../test/support/replace-key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { signedHeaders, type UnsignedRequest } from '../../../../../test/support/sign-request.ts'
import { until } from '../../../../../test/support/until.ts'

const SHOP = 'https://shop.example'
const URL_OF_ORDERS = `${SHOP}/orders?status=open`

const ends: (() => unknown)[] = []
let service: TestService
let owner: number
let key: TestKey
let did: string

before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) })
  owner = await service.operator.addVerifiedOwner()
  key = newKey()
  did = await claimAgent(service, owner, key)
})

after(async () => {
  for (const end of ends) await end()
})

interface Received {
  readonly method: string
  readonly url: string
  readonly headers: HeaderList
  readonly audience: string
}

interface Verdict {
  readonly verdict: string
  readonly reason: string | null
  readonly svcDid: string | null
  readonly keyid: string | null
  readonly replayKey: string | null
  readonly replayUntil: string | null
  readonly digest: string
}

/** A signed request, as the site passes it on. */
async function received(request: Partial<UnsignedRequest> = {}): Promise<Received> {
  const { method = 'GET', url = URL_OF_ORDERS } = request
  const headers = await signedHeaders(service, did, key, { ...request, method, url })
  return { method, url, headers, audience: SHOP }
}

function withHeader(request: Received, name: string, change: (value: string) => string): Received {
  const headers = request.headers.map(
    ([each, value]) => [each, each === name ? change(value) : value] as const,
  )
  return { ...request, headers }
}

async function verdictOn(request: unknown): Promise<Verdict> {
  const answer = await unchanged(service, () => post(service, '/api/v1/verify-request', request))
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  return jsonOf<Verdict>(answer)
}

async function reasonOf(request: unknown): Promise<string> {
  const { verdict, reason } = await verdictOn(request)
  return `${verdict}: ${reason}`
}

function thumbprintOf({ publicKey }: TestKey): string {
  return keyThumbprint(Buffer.from(publicKey, 'base64'))
}

test('a signed request is verified and names its agent', async () => {
  const createdAt = Math.floor(Date.now() / 1000) * 1000
  const { replayKey, ...verdict } = await verdictOn(await received({ createdAt }))
  assert.deepEqual(verdict, {
    verdict: 'verified',
    reason: null,
    svcDid: did,
    keyid: thumbprintOf(key),
    replay: 'unchecked',
    // A signature is valid for 60 seconds, and clocks may differ by 30.
    replayUntil: new Date(createdAt + 90_000).toISOString(),
    digest: 'none',
    delegation: null,
    approval: null,
  })
  assert.match(replayKey ?? '', /^[\w-]{43}$/)
  const identified = await received({ headers: [['ServiceID', did]] })
  assert.equal((await verdictOn(identified)).verdict, 'verified')
})

test('a copy of a request is not detected, but has the same replay key, however it is written', async () => {
  const request = await received({ method: 'POST', body: '{}' })
  const other = await received({ method: 'POST', body: '{}' })
  const first = await verdictOn(request)
  const sameAs = async (copy: Received) => assert.deepEqual(await verdictOn(copy), first)
  await sameAs(request)

  const relabelled = ['signature-input', 'signature'].reduce(
    (changed, name) => withHeader(changed, name, (value) => value.replace(/^sig1=/, 'proxy=')),
    request,
  )
  await sameAs(relabelled)
  const spaced = (value: string) => value.replaceAll(';nonce=', ';  nonce=')
  await sameAs(withHeader(request, 'signature-input', spaced))
  const upperCase = request.headers.map(([name, value]) => [name.toUpperCase(), value] as const)
  await sameAs({ ...request, headers: upperCase.reverse() })
  const decoy = `decoy=();nonce="${randomBytes(18).toString('base64url')}";tag="other", `
  await sameAs(withHeader(request, 'signature-input', (value) => decoy + value))

  assert.notEqual((await verdictOn(other)).replayKey, first.replayKey)
})

test('a request that was changed, or sent to another site, is not verified', async () => {
  const get = await received()
  const order = await received({ method: 'POST', url: `${SHOP}/orders`, body: '{}' })
  const lateBy = async (seconds: number) => received({ createdAt: Date.now() - seconds * 1000 })
  const cases: [string, unknown][] = [
    ['invalid: authority', { ...get, audience: 'https://evil.example' }],
    ['invalid: authority', { ...get, audience: `${SHOP}:8443` }],
    ['invalid: authority', await received({ url: 'https://evil.example/orders' })],
    ['invalid: authority', await received({ url: 'https://shop.example./orders' })],
    ['invalid: bad-host', withHeader(get, 'Host', () => 'evil.example')],
    ['invalid: bad-host', { ...get, headers: [...get.headers, ['host', 'shop.example']] }],
    ['invalid: bad-host', { ...get, url: 'https://a@shop.example/orders' }],
    ['invalid: insecure', { ...get, url: get.url.replace('https:', 'http:') }],
    ['invalid: insecure', { ...get, url: 'http://shop.example/', audience: 'http://shop.example' }],
    ['invalid: bad-signature', { ...get, url: get.url.replace('open', 'paid') }],
    ['invalid: bad-signature', { ...get, url: get.url.replace('orders', 'carts') }],
    ['invalid: bad-signature', { ...get, method: 'HEAD' }],
    ['invalid: bad-signature', { ...get, method: 'get' }],
    ['invalid: components', { ...get, url: `${SHOP}/orders` }],
    ['invalid: components', { ...order, url: `${SHOP}/orders?` }],
    [
      'invalid: components',
      { ...get, method: 'DELETE', headers: [...get.headers, ['Content-Length', '2']] },
    ],
    ['invalid: components', { ...get, method: 'POST' }],
    ['invalid: components', { ...get, headers: [...get.headers, ['Authorization', 'Bearer x']] }],
    ['invalid: bad-path', { ...get, url: `${SHOP}/a/../orders?status=open` }],
    ['invalid: bad-path', { ...get, url: SHOP }],
    ['invalid: bad-path', { ...get, url: `${SHOP}/orders?status=open#x` }],
    ['invalid: expired', await lateBy(61)],
    ['invalid: not-yet-valid', await lateBy(-40)],
    [
      'invalid: identification-mismatch',
      await received({ headers: [['ServiceID', `svc:agent:${'1'.repeat(24)}`]] }),
    ],
    ['invalid: identification-mismatch', { ...get, headers: [...get.headers, ['ServiceID', did]] }],
    ['invalid: malformed', withHeader(get, 'signature', (value) => value.slice(0, -1))],
    ['invalid: malformed', withHeader(get, 'signature-agent', (value) => `${value}\r\nx: y`)],
    [
      'invalid: malformed',
      { ...order, headers: [...order.headers, ['Content-Type', 'a/b'], ['Content-Type', 'c/d']] },
    ],
    [
      'invalid: limits',
      withHeader(get, 'signature-input', (value) => `${value}${' '.repeat(9000)};x`),
    ],
    ['unverified: unsigned', { ...get, headers: [['Host', 'shop.example']] }],
    ['unverified: unsigned', { ...get, headers: [] }],
  ]
  for (const [expected, request] of cases) {
    const { verdict, reason, replayKey } = await verdictOn(request)
    assert.equal(`${verdict}: ${reason}`, expected, JSON.stringify(request))
    assert.equal(replayKey, null)
  }
})

test('the body is not visible: its digest is covered, and the site compares it', async () => {
  const order = await received({ method: 'PUT', body: '{"amount":1}' })
  const { verdict, digest } = await verdictOn(order)
  assert.deepEqual([verdict, digest], ['verified', 'unchecked'])
  const foreign = await received({ method: 'PUT', body: '{"amount":1000}' })
  const digestOf = ({ headers }: Received) =>
    headers.find(([name]) => name === 'content-digest')?.[1] ?? assert.fail('no digest')
  const changed = withHeader(order, 'content-digest', () => digestOf(foreign))
  assert.equal(await reasonOf(changed), 'invalid: bad-signature')
})

test('a suspended or revoked agent holds its key, and is not verified', async () => {
  const other = newKey()
  const agent = await claimAgent(service, owner, other, 'suspended')
  const request = async () => ({
    ...(await received()),
    headers: await signedHeaders(service, agent, other, { url: URL_OF_ORDERS }),
  })
  assert.equal((await verdictOn(await request())).svcDid, agent)
  for (const status of ['suspended', 'revoked'] as const) {
    await setStatus(service, agent, status)
    const { verdict, reason, svcDid } = await verdictOn(await request())
    assert.deepEqual([verdict, reason, svcDid], ['invalid', status, agent])
  }
})

test('only the current key of a known agent proves anything', async () => {
  const [former, current] = [newKey(), newKey()]
  const agent = await claimAgent(service, owner, former, 'replaced')
  const by = async (signer: TestKey, name = agent) => ({
    ...(await received()),
    headers: await signedHeaders(service, name, signer, { url: URL_OF_ORDERS }),
  })
  assert.equal((await verdictOn(await by(former))).verdict, 'verified')
  assert.equal(await reasonOf(await by(current)), 'unverified: unknown-key')
  await replaceKey(service.operator.db, agent.slice(-24), Buffer.from(current.publicKey, 'base64'))
  await until(async () => (await verdictOn(await by(current))).verdict === 'verified')
  const { svcDid, ...old } = await verdictOn(await by(former))
  assert.deepEqual([old.verdict, old.reason, svcDid], ['unverified', 'unknown-key', null])
  assert.equal(await reasonOf(await by(current, did)), 'unverified: unknown-key')
  assert.equal(await reasonOf(await by(current, '1'.repeat(24))), 'unverified: unknown-key')
  const named = withHeader(await by(former), 'signature-input', (value) =>
    value.replace(/keyid="[^"]*"/, `keyid="${thumbprintOf(current)}"`),
  )
  assert.equal(await reasonOf(named), 'invalid: bad-signature')
})

test('keys outside the service are not trusted, and nothing is fetched', async (t) => {
  let fetched = 0
  const directory = await startSite(t, (_request, response) => {
    fetched += 1
    response.end('{"keys":[]}')
  })
  const tail = did.slice(-24)
  const own = agentKeySetUrl(service.url, tail)
  const foreign = [
    agentKeySetUrl(directory, tail),
    agentKeySetUrl('https://id.example', tail),
    agentKeySetUrl(service.url.replace('http:', 'https:'), tail),
    `${service.url}/agent/svc/agent/${tail}/jwks.json`,
    `${service.url}/agent/${tail}/did.json`,
    `${own}?x`,
    `${service.url}/agent/x/${tail}/jwks.json`,
  ]
  for (const url of foreign) {
    const request = await received({ signatureAgent: { dialect: 'ietf', url } })
    assert.equal(await reasonOf(request), 'unverified: untrusted-agent', url)
  }
  const legacy = await received({ signatureAgent: { dialect: 'legacy', url: directory } })
  assert.equal(await reasonOf(legacy), 'unverified: untrusted-agent')
  assert.equal(fetched, 0)
  const byDid = { dialect: 'ietf', url: agentKeySetUrl(service.url, did) } as const
  assert.equal((await verdictOn(await received({ signatureAgent: byDid }))).verdict, 'verified')
})

test('a request that is not described as specified is refused', async () => {
  const good = await received()
  const { audience: _, ...noAudience } = good
  const { headers: __, ...noHeaders } = good
  const bad: [unknown, RegExp][] = [
    [noAudience, /audience/],
    [noHeaders, /headers/],
    [{ ...good, audience: [SHOP] }, /audience/],
    [{ ...good, audience: `${SHOP}/` }, /audience must be an origin/],
    [{ ...good, audience: 'shop.example' }, /audience must be an origin/],
    [{ ...good, audience: '' }, /audience/],
    [{ ...good, url: '/orders' }, /url/],
    [{ ...good, url: 'ftp://shop.example/' }, /url/],
    [{ ...good, url: 7 }, /url/],
    [{ ...good, method: '' }, /method/],
    [{ ...good, method: 'GET /' }, /method/],
    [{ ...good, headers: Object.fromEntries(good.headers) }, /headers/],
    [{ ...good, headers: [['Host']] }, /headers/],
    [{ ...good, headers: [['Host', 'a', 'b']] }, /headers/],
    [{ ...good, headers: [['Content-Length', 0]] }, /headers/],
    [{ ...good, headers: Array(201).fill(['x', 'y']) }, /headers/],
    [{ ...good, body: '{}' }, /an unknown field/],
    [[good], /./],
    ['no JSON', /./],
  ]
  for (const [body, message] of bad) {
    const answer = await unchanged(service, () => post(service, '/api/v1/verify-request', body))
    assertRefused(answer, 400, 'VALIDATION_ERROR', message)
  }
  const huge = { ...good, headers: [...good.headers, ['Cookie', 'x'.repeat(33_000)]] }
  const answer = await post(service, '/api/v1/verify-request', huge)
  assertRefused(answer, 413, 'PAYLOAD_TOO_LARGE')
  const large = {
    ...good,
    headers: [...good.headers, ['Cookie', 'x'.repeat(8000)], ['X', 'x'.repeat(8000)]],
  }
  assert.equal((await verdictOn(large)).verdict, 'verified')
})
