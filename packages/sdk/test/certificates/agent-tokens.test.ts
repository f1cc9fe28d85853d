import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { Agent, type NewKey, newKey, Registry } from '@countersign/sdk'
import { refusal, startSite } from '../../../../test/support/impostor.ts'
import { PATIENT_CLIENT } from '../../../../test/support/patient-client.ts'
import { testIssuer } from '../../../../test/support/test-issuer.ts'
import { until } from '../../../../test/support/until.ts'

const DID = `svc:agent:${'A'.repeat(24)}`
const MINUTE = 60_000
const DAY = 1440 * MINUTE

type Kind = 'certificate' | 'staple'

interface Issued {
  readonly kind: Kind
  readonly token: string
}

/** An issuer that signs tokens of one agent, and counts them. */
async function startIssuer(t: TestContext) {
  let at = Date.now()
  const service = {
    now: () => at,
    advance: (milliseconds: number) => {
      at += milliseconds
    },
    /** The key of the agent, as the service knows it. */
    key: await newKey(),
    /** What happens instead of an answer. */
    instead: null as ((response: ServerResponse) => unknown) | null,
    issued: [] as Issued[],
    /** Requests, answered or not. */
    asked: 0,
    count: (kind: Kind) => service.issued.filter((each) => each.kind === kind).length,
    last: (kind: Kind) => service.issued.findLast((each) => each.kind === kind)?.token ?? null,
  }
  const origin = await startSite(t, async ({ url = '' }, response) => {
    service.asked += 1
    if (service.instead !== null) return service.instead(response)
    const kind = /(certificate|staple)$/.exec(url)?.[0] as Kind
    const agent = { did: DID, publicKey: service.key.publicKey }
    // As the staples of one second, they would be the same.
    const claims = { n: service.issued.length }
    const token =
      kind === 'staple'
        ? await issuer.staple(agent, claims)
        : await issuer.certificate(agent, {}, claims)
    service.issued.push({ kind, token })
    response.writeHead(200, { 'content-type': 'application/jwt' }).end(token)
  })
  const issuer = testIssuer(origin, service.now)
  return { service, origin }
}

type Service = Awaited<ReturnType<typeof startIssuer>>['service']

async function setUp(t: TestContext, ...audiences: string[]) {
  const { service, origin } = await startIssuer(t)
  const agent = new Agent({
    registry: new Registry(origin, { ...PATIENT_CLIENT, retries: 0 }),
    signer: service.key,
    did: DID,
    certificates: true,
    now: service.now,
    audiences: ['https://shop.example', ...audiences],
  })
  const sent = async () => {
    const { headers } = await agent.sign('https://shop.example/orders')
    return {
      certificate: headers.get('serviceid-certificate'),
      staple: headers.get('serviceid-status'),
    }
  }
  return { service, agent, sent }
}

const newest = (service: Service) => ({
  certificate: service.last('certificate'),
  staple: service.last('staple'),
})

test('tokens are renewed before they expire, and none is sent that has expired', async (t) => {
  const { service, sent } = await setUp(t)
  const first = await sent()
  assert.deepEqual(first, newest(service))
  service.advance(3 * MINUTE)
  assert.deepEqual(await sent(), first)
  assert.deepEqual([service.count('certificate'), service.count('staple')], [1, 1])

  service.advance(MINUTE)
  assert.deepEqual(await sent(), first, 'a request does not wait for a renewal')
  await until(async () => (await sent()).staple !== first.staple)
  assert.deepEqual(await sent(), newest(service))
  assert.deepEqual([service.count('certificate'), service.count('staple')], [1, 2])

  service.advance(DAY / 2)
  const later = await sent()
  assert.equal(later.certificate, first.certificate)
  assert.equal(later.staple, service.last('staple'), 'the staple had expired: it waits for another')
  assert.equal(service.count('staple'), 3)
  await until(async () => (await sent()).certificate !== first.certificate)
  assert.equal(service.count('certificate'), 2)
})

test('while the service is away, valid tokens are sent without delay, then none; it is asked twice a minute', async (t) => {
  const { service, sent } = await setUp(t)
  const first = await sent()
  const waiting: ServerResponse[] = []
  service.instead = (response) => waiting.push(response)
  service.advance(5 * MINUTE)
  // The service does not answer, and no request waits for it.
  for (let i = 0; i < 5; i++) assert.deepEqual(await sent(), first)
  await until(async () => waiting.length === 1)
  assert.equal(service.asked, 3, 'one request is under way')

  const fail = (response: ServerResponse) =>
    response
      .writeHead(503, { 'content-type': 'application/json' })
      .end(JSON.stringify(refusal('UNAVAILABLE')))
  service.instead = fail
  for (const each of waiting) fail(each)
  service.advance(11 * MINUTE)
  await until(async () => (await sent()).staple === null)
  assert.deepEqual(await sent(), { certificate: first.certificate, staple: null })
  const { asked } = service
  for (let i = 0; i < 5; i++) await sent()
  assert.equal(service.asked, asked, 'it is left alone for 30 seconds')
  service.advance(31_000)
  await sent()
  assert.equal(service.asked, asked + 1)

  service.advance(DAY)
  assert.deepEqual(await sent(), { certificate: null, staple: null })
  service.instead = null
  service.advance(31_000)
  assert.deepEqual(await sent(), newest(service))
  assert.notEqual((await sent()).certificate, null)
})

test('requests at the same time share one fetch of each token', async (t) => {
  const { service, sent } = await setUp(t)
  const all = await Promise.all(Array.from({ length: 20 }, sent))
  assert.equal(service.asked, 2)
  for (const each of all) assert.deepEqual(each, newest(service))
  service.advance(DAY)
  const renewed = await Promise.all(Array.from({ length: 20 }, sent))
  assert.equal(service.asked, 4)
  for (const each of renewed) assert.deepEqual(each, newest(service))
})

/** A site that refuses all certificates up to one. */
async function startShop(t: TestContext) {
  const shop = { refused: new Set<string>(), all: false, visits: 0 }
  const origin = await startSite(t, ({ headers }, response) => {
    shop.visits += 1
    const isRefused = shop.all || shop.refused.has(String(headers['serviceid-certificate']))
    response.writeHead(isRefused ? 401 : 200).end()
  })
  return { shop, origin }
}

test('after a refusal by a site, all requests at the time are sent once more with renewed tokens', async (t) => {
  const { shop, origin } = await startShop(t)
  const { service, agent, sent } = await setUp(t, origin)
  const { certificate } = await sent()
  assert.equal((await agent.fetch(origin)).status, 200)
  shop.refused.add(certificate ?? '')
  const responses = await Promise.all(Array.from({ length: 10 }, () => agent.fetch(origin)))
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]))
  assert.deepEqual([service.count('certificate'), service.count('staple')], [2, 2])
  assert.deepEqual(await sent(), newest(service))
})

test('a site that refuses everything causes one renewal in 30 seconds, and no loop', async (t) => {
  const { shop, origin } = await startShop(t)
  const { service, agent } = await setUp(t, origin)
  shop.all = true
  assert.equal((await agent.fetch(origin)).status, 401)
  assert.equal(shop.visits, 2)
  assert.equal((await agent.fetch(origin)).status, 401)
  assert.equal(shop.visits, 3)
  assert.equal(service.count('certificate'), 2)
  service.advance(31_000)
  assert.equal((await agent.fetch(origin)).status, 401)
  assert.equal(service.count('certificate'), 3)
})

const thumb = ({ publicKey }: NewKey) => Buffer.from(publicKey).toString('base64url')

function keyIn(certificate: string | null): string | undefined {
  const payload = Buffer.from(certificate?.split('.')[1] ?? '', 'base64url').toString()
  return certificate === null ? undefined : JSON.parse(payload).cnf.jwk.x
}

test('after a change of the key, no token of the previous key is sent, also if it arrives later', async (t) => {
  const { service, agent, sent } = await setUp(t)
  const [old, next] = [service.key, await newKey()]
  assert.equal(keyIn((await sent()).certificate), thumb(old))
  agent.useKey(next)
  // A node that has not learned of the rotation yet.
  assert.deepEqual(await sent(), { certificate: null, staple: null })
  service.key = next
  const { asked } = service
  assert.deepEqual(await sent(), { certificate: null, staple: null })
  assert.equal(service.asked, asked, 'it is asked again after a second')
  service.advance(1001)
  assert.equal(keyIn((await sent()).certificate), thumb(next))

  const third = await newKey()
  const held: ServerResponse[] = []
  service.instead = (response) => held.push(response)
  service.advance(DAY)
  const during = sent()
  await until(async () => held.length === 2)
  agent.useKey(third)
  service.instead = null
  service.key = third
  const after = await sent()
  assert.equal(keyIn(after.certificate), thumb(third), 'it does not wait for the earlier request')
  for (const each of held) each.destroy()
  await during
  assert.deepEqual(await sent(), after)
})
