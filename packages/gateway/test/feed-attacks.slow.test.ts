import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FeedChange, TOKEN_TYPES } from '@countersign/protocol'
import { newIssuerKey, testIssuer } from '../../../test/support/test-issuer.ts'
import { until } from '../../../test/support/until.ts'
import { IssuerFollower } from '../src/issuers/issuer-follower.ts'
import { type IssuerSite, startIssuerSite } from './support/issuer-site.ts'
import { offlineAgent, PROVEN, startOfflineSite } from './support/offline.ts'
import { setUp, untilArrived } from './support/offline-attack.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const FORGERIES: Readonly<Record<string, (site: IssuerSite) => Promise<unknown> | unknown>> = {
  'a replayed change': ({ n }) => ({ n, list: 1, idx: 7, status: 0 }),
  'a reordered change': ({ n }) => ({ n: n - 1, list: 1, idx: 7, status: 0 }),
  'a change after one that is missing': ({ n }) => ({ n: n + 2, list: 1, idx: 7, status: 0 }),
  'a head of a stranger': async ({ origin, epoch, n }) => {
    const iat = Math.floor(Date.now() / 1000)
    const claims = { iss: origin, iat, exp: iat + 600, epoch, n, asOf: Date.now() + HOUR }
    const rest = { chain: 'A'.repeat(43), mark: 'A'.repeat(70) }
    return { head: await testIssuer(origin).sign(TOKEN_TYPES.feedHead, { ...claims, ...rest }) }
  },
  'a head of another issuer': async (site) => ({
    head: await site.head({ iss: 'https://other.example' }),
  }),
  'another token as a head': async (site) => ({ head: (await site.snapshot()).manifest }),
  'a head of another epoch': async (site) => ({ head: await site.head({ epoch: 'other' }) }),
  'a head of other changes': async (site) => ({
    head: await site.head({ chain: 'A'.repeat(43) }),
  }),
  'a head of changes that are missing': async (site) => ({
    head: await site.head({ n: site.n + 1 }),
  }),
  'a head that has expired': async (site) => ({
    head: await site.head({ exp: Math.floor(Date.now() / 1000) - 120 }),
  }),
  'a line without sense': () => ({ n: 'x' }),
}

test('a feed that shows what its issuer would not send is cut, and all lists are read again', async (t) => {
  const { site, shop, agent, certificate, elapsed, faults } = await setUp(t)
  // It stays suspended, whatever the feed says.
  site.change(1, 7, 2)
  await until(async () => (await shop.visit(agent, { certificate })).status === 403)
  for (const [name, forge] of Object.entries(FORGERIES)) {
    const [snapshots, connection] = [count(site), [...site.open][0]]
    // Once in 10 seconds at most.
    elapsed.pass(10_000)
    site.send(await forge(site))
    await until(async () => count(site) > snapshots && site.open.size === 1)
    assert.ok(!site.open.has(connection as never), name)
    assert.equal((await shop.visit(agent, { certificate })).status, 403, name)
  }
  assert.deepEqual(new Set(faults), new Set(['number', 'position', 'epoch', 'token']))
})

test('a forged end of a suspension changes nothing', async (t) => {
  const { site, shop, agent, certificate, elapsed } = await setUp(t)
  site.change(1, 7, 2)
  await until(async () => (await shop.visit(agent, { certificate })).status === 403)
  const snapshots = count(site)
  elapsed.pass(10_000)
  site.send({ n: site.n + 1, list: 1, idx: 7, status: 0 })
  await site.sendHead()
  await until(async () => count(site) > snapshots)
  await untilArrived(site, shop)
  assert.equal((await shop.visit(agent, { certificate })).status, 403)
})

test('a proxy drops, swaps, repeats or alters lines and passes the heads: the agent is refused after the next head', async (t) => {
  const { site, shop, elapsed, faults } = await setUp(t)
  const attacks: ((lines: FeedChange[]) => unknown[])[] = [
    ([, second]) => [second],
    ([first]) => [first],
    () => [],
    ([first, second]) => [second, first],
    ([first, second]) => [first, first, second],
    ([first, second]) => [{ ...first, status: 0 }, second],
    ([first, second]) => [{ ...first, idx: 120_000 }, second],
    ([first, second]) => [
      { ...second, n: first?.n },
      { ...first, n: second?.n },
    ],
  ]
  for (const [i, attack] of attacks.entries()) {
    const victim = offlineAgent(site.origin, 2 + i)
    const idx = 200 + 2 * i
    const tokens = { certificate: await site.issuer.certificate(victim, { idx }) }
    assert.equal((await shop.visit(victim, tokens)).status, 200)
    await site.untilFollowed(i + 1)
    elapsed.pass(10_000)
    const lines = [site.changeUnsent(1, idx, 2), site.changeUnsent(1, idx + 1, 1)]
    for (const line of attack(lines)) site.send(line)
    await site.sendHead()
    await until(async () => (await shop.visit(victim, tokens)).status === 403)
    assert.equal(faults.length, i + 1, `attack ${i}`)
  }
})

test('a forged restriction refuses an agent, and is cleared 5 to 10 seconds later', async (t) => {
  const { site, shop, agent, certificate, elapsed } = await setUp(t)
  site.send({ n: site.n + 1, list: 1, idx: 7, status: 2 })
  await until(async () => (await shop.visit(agent, { certificate })).status === 403)
  const snapshots = count(site)
  elapsed.pass(10_000)
  await site.sendHead()
  await until(async () => count(site) > snapshots && site.open.size === 1)
  const at = (ms: number) => {
    const asOf = Date.now() + ms
    return site.head({ asOf, iat: Math.floor(asOf / 1000) })
  }
  // The line arrived before now: a head that knows the database from 5 seconds later would have it.
  await until(async () => {
    site.send({ head: await at(30_000) })
    return (await shop.visit(agent, { certificate })).status === 200
  })
})

test('without a place for a stream, changes are read by polling, also those before its window', async (t) => {
  const site = await startIssuerSite(t)
  site.hasPlaces = false
  const [first, second] = [offlineAgent(site.origin), offlineAgent(site.origin, 1)]
  const followed = { issuer: site.origin, base: site.origin, jwks: null }
  const follower = new IssuerFollower(
    { ...followed, elapsed: () => performance.now(), now: Date.now },
    { pollMs: 20 },
  )
  t.after(() => follower.stop())
  await follower.ready
  const snapshots = count(site)
  const told: string[] = []
  follower.remember(1, 7, first.did)
  follower.remember(1, 8, second.did)
  follower.onRestricted((did) => told.push(did))
  site.change(1, 7, 2)
  await until(async () => follower.status(1, 7)?.status === 'suspended')
  assert.deepEqual(told, [first.did])
  // More changes than the window of 64 has: the rest is read from the feed.
  for (let idx = 1_000; idx < 1_100; idx += 1) site.change(1, idx, 1)
  site.change(1, 7, 0)
  site.change(1, 8, 2)
  await until(async () => follower.status(1, 8)?.status === 'suspended')
  for (let idx = 1_000; idx < 1_100; idx += 1)
    assert.equal(follower.status(1, idx)?.status, 'invalid')
  assert.equal(follower.status(1, 7)?.status, 'valid')
  assert.equal(count(site), snapshots)
  // A cached answer makes nothing newer.
  const cached = await site.latest()
  site.instead.set('/api/v1/feed/latest', (_, response) => response.end(cached))
  const polls = () => site.asked.filter((path) => path === '/api/v1/feed/latest').length
  const since = polls()
  await until(async () => polls() > since + 2)
  const { asOf } = follower
  const later = polls()
  await until(async () => polls() > later + 5)
  assert.equal(follower.asOf, asOf)
})

test('a stream whose heads are withheld: its restrictions apply, and polling keeps the lists current', async (t) => {
  const site = await startIssuerSite(t)
  const frozen = await site.head()
  site.instead.set('/api/v1/feed', (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify({ head: frozen })}\n\n`)
    site.open.add(response)
    response.once('close', () => site.open.delete(response))
  })
  site.instead.set('/api/v1/feed/latest', (_, response) => response.writeHead(503).end())
  const followed = { issuer: site.origin, base: site.origin, jwks: null }
  const follower = new IssuerFollower(
    { ...followed, elapsed: () => performance.now(), now: Date.now },
    { pollMs: 20, retryMs: 5 },
  )
  t.after(() => follower.stop())
  await until(async () => site.open.size === 1)
  site.change(1, 7, 2)
  await until(async () => follower.status(1, 7)?.status === 'suspended')
  const { asOf } = follower
  site.instead.delete('/api/v1/feed/latest')
  await until(async () => follower.asOf > asOf)
  assert.equal(follower.status(1, 7)?.status, 'suspended')
})

test('a snapshot that is truncated, altered or older is not taken', async (t) => {
  const { site, shop, agent, certificate, elapsed } = await setUp(t)
  site.change(1, 7, 2)
  await until(async () => (await shop.visit(agent, { certificate })).status === 403)
  await site.sendHead()
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
    { ...clean, head: await site.head({ n: 0 }) },
    { ...rest, lists, manifest: older.head },
  ]
  for (const [i, each] of snapshots.entries()) {
    const asked = count(site)
    site.instead.set('/api/v1/snapshot', (_, response) => {
      response.end(typeof each === 'string' ? each : JSON.stringify(each))
    })
    elapsed.pass(10_000)
    site.send({ n: 0, list: 1, idx: 7, status: 0 })
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
  await until(async () => {
    elapsed.pass(1_000)
    return (await shop.visit(agent, { certificate: renewed })).status === 200
  })
  // Heads by the stolen key do not count.
  const iat = Math.floor(Date.now() / 1000)
  const claims = { iss: site.origin, iat, exp: iat + 600, ...site.feed }
  const rest = { chain: 'A'.repeat(43), mark: 'A'.repeat(70) }
  const forged = { ...claims, ...rest, asOf: Date.now() + HOUR }
  const head = await site.issuer.sign(TOKEN_TYPES.feedHead, forged, 'EdDSA', stolen)
  await until(async () => site.open.size > 0)
  const snapshots = count(site)
  await until(async () => {
    elapsed.pass(10_000)
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
