import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testIssuer } from '../../../test/support/test-issuer.ts'
import { until } from '../../../test/support/until.ts'
import { offlineAgent, signed } from './support/offline.ts'
import { setUp, untilArrived } from './support/offline-attack.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

test('tokens without a signature, or of another key or agent, prove nothing', async (t) => {
  const { site, shop, agent, certificate } = await setUp(t)
  const other = offlineAgent(site.origin, 1)
  const staple = await site.issuer.staple(agent)
  const bare = new Request('https://shop.example/orders', {
    headers: {
      ServiceID: agent.did,
      'ServiceID-Certificate': certificate,
      'ServiceID-Status': staple,
    },
  })
  const unsigned = await shop.send(bare)
  assert.notEqual(unsigned.status, 200)
  assert.equal(unsigned.decision.proof, 'none')
  // Sent by somebody else, who signs with a key of their own.
  assert.deepEqual((await shop.visit(other, { certificate, staple })).reasons, [
    'certificate-invalid',
  ])
  const thief = offlineAgent(site.origin, 0)
  assert.deepEqual((await shop.visit(thief, { certificate })).reasons, ['certificate-invalid'])
})

test('tokens that the signature does not cover do not count', async (t) => {
  const { site, shop, agent, certificate } = await setUp(t)
  const staple = await site.issuer.staple(agent)
  for (const [name, value] of [
    ['ServiceID-Certificate', certificate],
    ['ServiceID-Status', staple],
  ] as const) {
    // Added on the way.
    const tokens = name === 'ServiceID-Status' ? { certificate } : {}
    const request = await signedRequest(tokens)
    request.headers.set(name, value)
    const added = await shop.send(request)
    assert.deepEqual([added.status, added.decision.signature?.reason], [401, 'components'], name)
  }
  // Removed on the way, and sent twice.
  const request = await signedRequest({ certificate, staple })
  request.headers.delete('ServiceID-Status')
  assert.notEqual((await shop.send(request)).status, 200)
  const twice = await signedRequest({ certificate })
  twice.headers.append('ServiceID-Certificate', certificate)
  assert.notEqual((await shop.send(twice)).status, 200)

  function signedRequest(tokens: Parameters<typeof shop.visit>[1]) {
    return signed(agent, tokens ?? {})
  }
})

test('an old certificate after a rotation is refused, by the list and by its key', async (t) => {
  const { site, shop, agent, certificate } = await setUp(t)
  site.change(1, 7, 1)
  await until(async () => (await shop.visit(agent, { certificate })).status === 401)
  const rotated = offlineAgent(site.origin, 0)
  const current = await site.issuer.certificate(rotated, { idx: 8 }, { keySequence: 2 })
  assert.equal((await shop.visit(rotated, { certificate: current })).status, 200)
  // The new key with the old certificate, the old key with the new one.
  assert.equal((await shop.visit(rotated, { certificate })).status, 401)
  assert.equal((await shop.visit(agent, { certificate: current })).status, 401)
})

test('staples: of another agent, another key or another issuer they are as if left out', async (t) => {
  const { site, shop, agent, certificate, elapsed } = await setUp(t)
  elapsed.pass(HOUR)
  const stranger = testIssuer(site.origin)
  const other = offlineAgent(site.origin, 1)
  const staples = [
    await site.issuer.staple(other),
    await site.issuer.staple({ ...agent, publicKey: other.publicKey }),
    await stranger.staple(agent),
    await site.issuer.staple(agent, { iss: 'https://other.example' }),
    await site.issuer.staple(agent, { exp: Math.floor(Date.now() / 1000) - 120 }),
    certificate,
    'nonsense',
  ]
  for (const staple of staples) {
    const { status, reasons } = await shop.visit(agent, { certificate, staple })
    assert.deepEqual([status, reasons[0]], [503, 'service-unreachable'])
  }
  // Its own is of the same place as the list, and younger: the list is an hour old.
  const now = Math.floor(Date.now() / 1000) + 3_600
  const staple = await site.issuer.staple(agent, { iat: now, exp: now + 900, feed: site.feed })
  const { status, decision } = await shop.visit(agent, { certificate, staple })
  assert.deepEqual([status, decision.source], [200, 'staple'])
})

test('the place in the feed decides, not the age: a staple from before a suspension never beats it', async (t) => {
  const { site, shop, agent, certificate, elapsed } = await setUp(t)
  // Signed after everything that the gateway hears, about a state from before.
  const soon = Math.floor(Date.now() / 1000) + 30
  const times = { iat: soon, exp: soon + 900 }
  const before = await site.issuer.staple(agent, { ...times, feed: site.feed })
  assert.equal((await shop.visit(agent, { certificate, staple: before })).status, 200)
  const { n } = site.change(1, 7, 2)
  await until(async () => (await shop.visit(agent, { certificate, staple: before })).status === 403)
  // The same without heads, for longer than a staple lives, and once the head has confirmed it.
  elapsed.pass(60_000)
  const early = soon - 90
  const old = { iat: early, exp: early + 900 }
  for (const claims of [times, old]) {
    const at = async (feed: object) =>
      (
        await shop.visit(agent, {
          certificate,
          staple: await site.issuer.staple(agent, { ...claims, ...feed }),
        })
      ).status
    const { epoch } = site
    assert.equal(await at({ feed: { epoch, n: n - 1 } }), 403)
    assert.equal(await at({ feed: { epoch, n } }), 403)
    assert.equal(await at({ feed: { epoch: 'other', n: n + 9 } }), 403)
    assert.equal(await at({}), 403)
    assert.equal(await at({ feed: { epoch, n: n + 1 } }), 200)
    await site.sendHead()
  }
  const other = offlineAgent(site.origin, 1)
  const suspended = (feed: object) =>
    site.issuer.staple(other, { ...old, agentStatus: 'suspended', ...feed })
  const tokens = { certificate: await site.issuer.certificate(other, { idx: 9 }) }
  assert.equal((await shop.visit(other, tokens)).status, 200)
  const refused = await shop.visit(other, {
    ...tokens,
    staple: await suspended({ feed: site.feed }),
  })
  assert.deepEqual([refused.status, refused.decision.source], [403, 'staple'])
  assert.equal((await shop.visit(other, { ...tokens, staple: await suspended({}) })).status, 403)
  const past = { feed: { epoch: site.epoch, n: n - 1 } }
  await until(async () => {
    await site.sendHead()
    return (await shop.visit(other, { ...tokens, staple: await suspended(past) })).status === 200
  })
})

test('a frozen feed with an open connection goes stale; keys, lines and old heads do not refresh it', async (t) => {
  const { site, shop, agent, certificate, elapsed } = await setUp(t)
  const old = await site.head()
  assert.equal((await shop.visit(agent, { certificate })).status, 200)
  elapsed.pass(301_000)
  site.instead.set('/api/v1/feed/latest', (_, response) =>
    response.end(`${JSON.stringify({ head: old })}\n`),
  )
  site.send({ head: old })
  await untilArrived(site, shop)
  const { status, decision, reasons } = await shop.visit(agent, { certificate })
  assert.deepEqual([status, reasons[0]], [503, 'service-unreachable'])
  assert.equal(decision.source, null)
  assert.equal(site.open.size, 1)
  // A new head ends it. It is as old as the clock of the site says.
  await until(async () => {
    await site.sendHead()
    return (await shop.visit(agent, { certificate })).status === 200
  })
})

test('a clock that is set back revives no certificate and no staple', async (t) => {
  const { site, shop, agent, elapsed, wall } = await setUp(t)
  const now = Math.floor(Date.now() / 1000)
  const certificate = await site.issuer.certificate(agent, {}, { exp: now + 120 })
  assert.equal((await shop.visit(agent, { certificate })).status, 200)
  elapsed.pass(200_000)
  wall.offset = -HOUR
  assert.deepEqual((await shop.visit(agent, { certificate })).reasons, ['certificate-expired'])
})

test('a clock that is wrong on either side refuses, and admits nobody', async (t) => {
  const { site, shop, agent, certificate, wall } = await setUp(t)
  // The site's clock is ahead: what the issuer signs looks old.
  wall.offset = 48 * HOUR
  assert.deepEqual((await shop.visit(agent, { certificate })).reasons, ['certificate-expired'])
  wall.offset = 0
  // The issuer's clock is ahead: its tokens are of the future.
  const ahead = await site.issuer.certificate(
    agent,
    {},
    { iat: Math.floor(Date.now() / 1000) + 3_600 },
  )
  assert.deepEqual((await shop.visit(agent, { certificate: ahead })).reasons, [
    'certificate-invalid',
  ])
  site.send({ head: await site.head({ iat: Math.floor(Date.now() / 1000) + 3_600 }) })
  await site.untilFollowed(2)
  assert.equal((await shop.visit(agent, { certificate })).status, 200)
})

test('an issuer whose clock is set back makes its status stale: nothing that it signs passes for current', async (t) => {
  const { site, shop, agent, certificate, elapsed } = await setUp(t)
  assert.equal((await shop.visit(agent, { certificate })).status, 200)
  const behind = (milliseconds: number) => {
    const asOf = Date.now() - milliseconds
    const iat = Math.floor(asOf / 1000)
    // As it believes to be the time: a head of that moment, which the site has reason to take for old.
    return site.head({ iat, exp: iat + 60, asOf })
  }
  elapsed.pass(301_000)
  site.instead.set('/api/v1/feed/latest', (_, response) => response.writeHead(503).end())
  site.send({ head: await behind(10_000) })
  // To the site, that head has expired: it reads everything again, and opens another feed.
  await site.untilFollowed(2)
  await untilArrived(site, shop)
  const stale = await shop.visit(agent, { certificate })
  assert.deepEqual([stale.status, stale.reasons[0]], [503, 'service-unreachable'])
  const staple = await site.issuer.staple(agent, {
    iat: Math.floor(Date.now() / 1000) - HOUR / 1000,
  })
  assert.equal((await shop.visit(agent, { certificate, staple })).status, 503)
  // A restriction counts all the same.
  site.change(1, 7, 2)
  await until(async () => (await shop.visit(agent, { certificate })).status === 403)
})
