import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { TOKEN_TYPES } from '@countersign/protocol'
import { newIssuerKey, testIssuer } from '../../../test/support/test-issuer.ts'
import { until } from '../../../test/support/until.ts'
import { IssuerFollower } from '../src/issuers/issuer-follower.ts'
import { Clock } from './support/clock.ts'
import { type IssuerSite, startIssuerSite } from './support/issuer-site.ts'
import { offlineAgent, PROVEN, signed, startOfflineSite } from './support/offline.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** A site whose two clocks are moved by hand: what tokens go by, and how old heads are. */
async function setUp(t: TestContext, policy = {}) {
  const elapsed = new Clock()
  const wall = { offset: 0 }
  const clock = () => Date.now() + wall.offset
  const site = await startIssuerSite(t)
  const trust = [{ issuer: site.origin, didPrefix: 'svc:agent:' }]
  const options = { now: elapsed.now, clock, policy: { ...PROVEN, trust, ...policy } }
  const shop = startOfflineSite(t, [site], options)
  await site.untilFollowed()
  const agent = offlineAgent(site.origin, 0, { now: clock })
  const certificate = await site.issuer.certificate(agent)
  return { site, shop, agent, certificate, elapsed, wall }
}

/** Waits until lines that were sent have arrived: an entry of another agent shows it. */
async function untilArrived(site: IssuerSite, shop: Awaited<ReturnType<typeof setUp>>['shop']) {
  const marker = offlineAgent(site.origin, 20)
  const idx = 100_000 + site.seq
  const certificate = await site.issuer.certificate(marker, { idx })
  // Repeated, since what is sent while the gateway opens its connection again is lost.
  await until(async () => {
    site.change(1, idx, 1)
    return (await shop.visit(marker, { certificate })).status === 401
  })
}

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
  // Its own is newer than the list, which is an hour old.
  const now = Math.floor(Date.now() / 1000) + 3_600
  const staple = await site.issuer.staple(agent, { iat: now, exp: now + 900 })
  const { status, decision } = await shop.visit(agent, { certificate, staple })
  assert.deepEqual([status, decision.source], [200, 'staple'])
})

test('a staple never overrides a newer restriction, and a newer staple restricts', async (t) => {
  const { site, shop, agent, certificate } = await setUp(t)
  const early = Math.floor(Date.now() / 1000) - 60
  const staple = await site.issuer.staple(agent, { iat: early, exp: early + 900 })
  assert.equal((await shop.visit(agent, { certificate, staple })).status, 200)
  site.change(1, 7, 2)
  await until(async () => (await shop.visit(agent, { certificate, staple })).status === 403)
  const other = offlineAgent(site.origin, 1)
  const soon = Math.floor(Date.now() / 1000) + 30
  const suspended = await site.issuer.staple(other, {
    agentStatus: 'suspended',
    iat: soon,
    exp: soon + 900,
  })
  const tokens = { certificate: await site.issuer.certificate(other, { idx: 9 }) }
  assert.equal((await shop.visit(other, tokens)).status, 200)
  const refused = await shop.visit(other, { ...tokens, staple: suspended })
  assert.deepEqual([refused.status, refused.decision.source], [403, 'staple'])
})

test('a frozen feed with an open connection goes stale; keys, lines and old heads do not refresh it', async (t) => {
  const { site, shop, agent, certificate, elapsed } = await setUp(t)
  const old = await site.head()
  assert.equal((await shop.visit(agent, { certificate })).status, 200)
  elapsed.pass(301_000)
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
  await until(async () => {
    site.change(1, 7, 2)
    return (await shop.visit(agent, { certificate })).status === 403
  })
})

const FORGERIES: Readonly<Record<string, (site: IssuerSite) => Promise<unknown> | unknown>> = {
  'a replayed change': ({ seq }) => ({ seq, at: Date.now(), list: 1, idx: 7, status: 0 }),
  'a reordered change': ({ seq }) => ({ seq: seq - 1, at: Date.now(), list: 1, idx: 7, status: 0 }),
  'a head of a stranger': async ({ origin, epoch, seq }) => {
    const iat = Math.floor(Date.now() / 1000)
    const claims = { iss: origin, iat, exp: iat + 600, epoch, seq, asOf: Date.now() + HOUR }
    return { head: await testIssuer(origin).sign(TOKEN_TYPES.feedHead, { ...claims, digest: 'x' }) }
  },
  'a head of another issuer': async (site) => ({
    head: await site.head({ iss: 'https://other.example' }),
  }),
  'another token as a head': async (site) => ({ head: (await site.snapshot()).manifest }),
  'a head of another epoch': async (site) => ({ head: await site.head({ epoch: 'other' }) }),
  'a head that has expired': async (site) => ({
    head: await site.head({ exp: Math.floor(Date.now() / 1000) - 120 }),
  }),
  'a line without sense': () => ({ seq: 'x' }),
}

test('a feed that shows what its issuer would not send is cut, and all lists are read again', async (t) => {
  const { site, shop, agent, certificate } = await setUp(t)
  // It stays suspended, whatever the feed says.
  site.change(1, 7, 2)
  await until(async () => (await shop.visit(agent, { certificate })).status === 403)
  for (const [name, forge] of Object.entries(FORGERIES)) {
    const [snapshots, connection] = [count(site), [...site.open][0]]
    site.send(await forge(site))
    await until(async () => count(site) > snapshots && site.open.size === 1)
    assert.ok(!site.open.has(connection as never), name)
    assert.equal((await shop.visit(agent, { certificate })).status, 403, name)
  }
})

test('a forged end of a suspension changes nothing: the signed list is read', async (t) => {
  const { site, shop, agent, certificate } = await setUp(t)
  site.change(1, 7, 2)
  await until(async () => (await shop.visit(agent, { certificate })).status === 403)
  site.seq += 1
  site.send({ seq: site.seq, at: Date.now(), list: 1, idx: 7, status: 0 })
  await site.sendHead()
  await until(async () => site.asked.includes('/status/1'))
  await untilArrived(site, shop)
  assert.equal((await shop.visit(agent, { certificate })).status, 403)
})

test('a snapshot that is truncated, altered or older is not taken', async (t) => {
  const { site, shop, agent, certificate } = await setUp(t)
  site.change(1, 7, 2)
  await until(async () => (await shop.visit(agent, { certificate })).status === 403)
  const older = await site.snapshot()
  const { lists, ...rest } = older
  const [list] = lists
  site.issuer.setStatus(1, 7, 0)
  const clean = await site.snapshot()
  site.issuer.setStatus(1, 7, 2)
  const snapshots: unknown[] = [
    JSON.stringify(older).slice(0, 200),
    { ...rest, lists: [] },
    { ...rest, lists: [...lists, ...lists] },
    { ...rest, lists: clean.lists },
    { ...rest, lists: [{ ...list, lst: 'AAAA' }] },
    { ...clean, manifest: older.manifest },
    { ...clean, head: await site.head({ seq: 1 }) },
    { ...rest, lists, manifest: older.head },
  ]
  for (const [i, each] of snapshots.entries()) {
    const asked = count(site)
    site.instead.set('/api/v1/snapshot', (_, response) => {
      response.end(typeof each === 'string' ? each : JSON.stringify(each))
    })
    site.send({ seq: 0, at: 1, list: 1, idx: 7, status: 0 })
    await until(async () => count(site) > asked)
    site.instead.clear()
    await until(async () => site.open.size === 1)
    assert.equal((await shop.visit(agent, { certificate })).status, 403, `snapshot ${i}`)
  }
})

test('status lists of others, and older ones, are not taken', async (t) => {
  const { site, shop } = await setUp(t)
  const agent = offlineAgent(site.origin, 2)
  site.issuer.setStatus(5, 3, 1)
  const certificate = await site.issuer.certificate(agent, { list: 5, idx: 3 })
  const stranger = testIssuer('https://other.example')
  const uri = `${site.origin}/status/5`
  const lists = [
    await stranger.statusList(5),
    await stranger.statusList(5, { sub: uri }),
    await site.issuer.statusList(6),
  ]
  for (const each of lists) {
    site.instead.set('/status/5', (_, response) => response.end(each))
    assert.equal((await shop.visit(agent, { certificate })).status, 503)
  }
})

test('a stolen key of the issuer counts until its removal, which gateways notice', async (t) => {
  const { site, shop, agent, certificate, elapsed } = await setUp(t)
  assert.equal((await shop.visit(agent, { certificate })).status, 200)
  const [stolen] = site.issuer.keys.splice(0, 1, newIssuerKey('EdDSA'))
  assert.ok(stolen)
  // The first head by another key makes the gateway read the keys again.
  const renewed = await site.issuer.certificate(agent)
  await until(async () => {
    // The keys are read every 5 seconds at most.
    elapsed.pass(1_000)
    await site.sendHead()
    return (await shop.visit(agent, { certificate })).status === 401
  })
  assert.deepEqual((await shop.visit(agent, { certificate })).reasons, ['certificate-invalid'])
  await until(async () => (await shop.visit(agent, { certificate: renewed })).status === 200)
  // Heads by the stolen key do not count.
  const iat = Math.floor(Date.now() / 1000)
  const claims = { iss: site.origin, iat, exp: iat + 600, epoch: site.epoch, seq: site.seq }
  const forged = { ...claims, asOf: Date.now() + HOUR, digest: 'x' }
  const head = await site.issuer.sign(TOKEN_TYPES.feedHead, forged, 'EdDSA', stolen)
  await until(async () => site.open.size > 0)
  const snapshots = count(site)
  await until(async () => {
    // Nobody receives it while the feed is being opened again.
    site.send({ head })
    return count(site) > snapshots
  })
})

test('keys are read again by themselves, and a removed one is dropped without a new head', async (t) => {
  const site = await startIssuerSite(t)
  const followed = { issuer: site.origin, base: site.origin, jwks: null }
  let clock = 0
  const elapsed = () => clock
  const follower = new IssuerFollower({ ...followed, elapsed, now: Date.now }, { keysMs: 5 })
  t.after(() => follower.stop())
  await site.untilFollowed()
  const [removed] = site.issuer.keys.splice(0, 1, newIssuerKey('EdDSA'))
  assert.ok(removed && follower.hasKey(removed.jwk.kid))
  await until(async () => {
    // A request every 5 seconds at most.
    clock += 5_000
    return !follower.hasKey(removed.jwk.kid)
  })
  // Keys that cannot be read make everything stale, since heads could be signed with a stolen one.
  site.instead.set('/.well-known/jwks.json', (_, response) => response.writeHead(503).end())
  await until(async () => follower.statusAgeMs < 60_000)
  clock += 11 * MINUTE
  await until(async () => {
    await site.sendHead()
    return follower.statusAgeMs >= 5 * MINUTE
  })
})

test('pinned keys: only those count, and none that the issuer has removed', async (t) => {
  const site = await startIssuerSite(t)
  const pinned = site.issuer.keySet()
  const trust = [{ issuer: site.origin, didPrefix: 'svc:agent:', jwks: pinned }]
  const shop = startOfflineSite(t, [site], { policy: { ...PROVEN, trust } })
  await site.untilFollowed()
  const agent = offlineAgent(site.origin)
  const certificate = await site.issuer.certificate(agent)
  assert.equal((await shop.visit(agent, { certificate })).status, 200)
  site.issuer.keys.push(newIssuerKey('EdDSA'))
  const unpinned = site.issuer.keys.at(-1)
  const payload = JSON.parse(Buffer.from(certificate.split('.')[1] ?? '', 'base64url').toString())
  const other = await site.issuer.sign(TOKEN_TYPES.certificate, payload, 'EdDSA', unpinned)
  assert.deepEqual((await shop.visit(agent, { certificate: other })).reasons, [
    'certificate-invalid',
  ])
})

function count({ asked }: IssuerSite): number {
  return asked.filter((path) => path === '/api/v1/snapshot').length
}
