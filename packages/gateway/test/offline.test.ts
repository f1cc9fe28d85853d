import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../test/support/until.ts'
import { Gate } from '../src/gate.ts'
import { PolicyError } from '../src/index.ts'
import { Clock } from './support/clock.ts'
import { FRAMEWORKS, type Seen } from './support/frameworks.ts'
import { type IssuerSite, startIssuerSite } from './support/issuer-site.ts'
import { offlineAgent, PROVEN, signed, startOfflineSite } from './support/offline.ts'
import { olderNonceStore, SHOP, send } from './support/signing.ts'

/** What a gateway may ask an issuer: none of it names an agent or a site. */
const ANONYMOUS = /^\/(\.well-known\/jwks\.json|api\/v1\/(feed(\/latest)?|snapshot)|status\/\d+)$/

function assertAnonymous({ asked }: IssuerSite): void {
  for (const path of asked) assert.match(path, ANONYMOUS)
}

for (const framework of Object.keys(FRAMEWORKS)) {
  test(`${framework}: with certificate and staple, no request reaches the service while the site decides`, async (t) => {
    const site = await startIssuerSite(t)
    const decided: string[] = []
    const url = await (FRAMEWORKS[framework] ?? assert.fail())(t, {
      service: site.origin,
      audiences: [SHOP],
      tlsTerminated: true,
      nonces: olderNonceStore(),
      timeoutMs: 30_000,
      policy: { ...PROVEN, trust: [{ issuer: site.origin, didPrefix: 'svc:agent:' }] },
      onDecision: ({ source }) => decided.push(String(source)),
    })
    await site.untilFollowed()
    const before = site.asked.length
    for (let n = 0; n < 3; n += 1) {
      const agent = offlineAgent(site.origin, n)
      const tokens = {
        certificate: await site.issuer.certificate(agent, { idx: n }),
        staple: await site.issuer.staple(agent),
      }
      const answer = await send(url, await signed(agent, tokens), {
        headers: { 'X-ServiceID-Issuer': 'https://forged.example', X_ServiceID_Issuer: 'forged' },
      })
      assert.equal(answer.status, 200, answer.text)
      const { agent: decision, fields } = JSON.parse(answer.text) as Seen
      assert.equal(decision.did, agent.did)
      assert.deepEqual([decision.proof, decision.issuer], ['signature', site.origin])
      assert.ok(['certificate', 'staple'].includes(decision.source ?? ''), String(decision.source))
      assert.ok((decision.statusAgeSeconds ?? 999) < 300)
      const told = fields.filter(([name]) => /^x.serviceid.issuer$/i.test(name))
      assert.deepEqual(new Set(told.map(([, value]) => value)), new Set([site.origin]))
    }
    assert.deepEqual(site.asked.slice(before), [])
    assertAnonymous(site)
  })
}

test('by certificate, an agent that was transferred less than minimumOwnerAgeSeconds ago is refused', async (t) => {
  const site = await startIssuerSite(t)
  const shop = startOfflineSite(t, [site], { policy: { minimumOwnerAgeSeconds: 259_200 } })
  const agent = offlineAgent(site.origin)
  await site.untilFollowed()
  const visit = async (claims: object) => {
    const certificate = await site.issuer.certificate(agent, {}, { ...claims })
    const { status, reasons } = await shop.visit(agent, { certificate })
    return [status, reasons[0]]
  }
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
  assert.deepEqual(await visit({}), [200, 'owner-verified'])
  assert.deepEqual(await visit({ ownerChangedAt: daysAgo(2) }), [403, 'owner-too-new'])
  assert.deepEqual(await visit({ ownerChangedAt: daysAgo(4) }), [200, 'owner-verified'])
})

test('a change in the feed decides about the next request: suspended, active again, replaced', async (t) => {
  const site = await startIssuerSite(t)
  const shop = startOfflineSite(t, [site])
  const agent = offlineAgent(site.origin)
  const certificate = await site.issuer.certificate(agent)
  await site.untilFollowed()
  const answers = async (expected: string) => {
    await until(async () => (await shop.visit(agent, { certificate })).reasons[0] === expected)
    return shop.visit(agent, { certificate })
  }
  assert.equal((await answers('owner-verified')).status, 200)
  site.change(1, 7, 2)
  const suspended = await answers('status-refused')
  assert.deepEqual([suspended.status, suspended.decision.status], [403, 'suspended'])
  // A line is not signed: only the next head ends a suspension.
  site.change(1, 7, 0)
  site.change(1, 99, 1)
  const marker = {
    certificate: await site.issuer.certificate(offlineAgent(site.origin, 9), { idx: 99 }),
  }
  await until(async () => (await shop.visit(offlineAgent(site.origin, 9), marker)).status === 401)
  assert.equal((await shop.visit(agent, { certificate })).status, 403)
  await until(async () => {
    await site.sendHead()
    return (await shop.visit(agent, { certificate })).status === 200
  })
  site.change(1, 7, 1)
  const replaced = await answers('certificate-replaced')
  assert.deepEqual([replaced.status, replaced.decision.did], [401, null])
  // An entry that is invalid is never used again: no line and no staple revives it.
  const staple = await site.issuer.staple(agent)
  assert.equal((await shop.visit(agent, { certificate, staple })).status, 401)
  // Another entry of the same agent.
  const renewed = await site.issuer.certificate(agent, { idx: 8 })
  assert.equal((await shop.visit(agent, { certificate: renewed })).status, 200)
  assertAnonymous(site)
})

test('a list that is not in memory is read when a certificate refers to it', async (t) => {
  const site = await startIssuerSite(t)
  const shop = startOfflineSite(t, [site])
  await site.untilFollowed()
  const agent = offlineAgent(site.origin)
  site.issuer.setStatus(2, 3, 2)
  const certificate = await site.issuer.certificate(agent, { list: 2, idx: 3 })
  assert.equal((await shop.visit(agent, { certificate })).decision.status, 'suspended')
  const other = offlineAgent(site.origin, 1)
  const otherCertificate = await site.issuer.certificate(other, { list: 2, idx: 4 })
  assert.equal((await shop.visit(other, { certificate: otherCertificate })).status, 200)
  assertAnonymous(site)
})

test('without a certificate, the service is asked as before', async (t) => {
  const site = await startIssuerSite(t)
  const shop = startOfflineSite(t, [site])
  await site.untilFollowed()
  const agent = offlineAgent(site.origin)
  const { status, decision } = await shop.visit(agent, { staple: await site.issuer.staple(agent) })
  assert.notEqual(status, 200)
  assert.equal(decision.proof, 'none')
  const lookup = `/api/v1/agent/${encodeURIComponent(agent.did)}`
  assert.ok(site.asked.includes(lookup), site.asked.join(' '))
})

test('after 410 the gateway reads all lists again, also those changes that it missed', async (t) => {
  const site = await startIssuerSite(t)
  const elapsed = new Clock()
  const shop = startOfflineSite(t, [site], { now: elapsed.now })
  const agent = offlineAgent(site.origin)
  const certificate = await site.issuer.certificate(agent)
  await site.untilFollowed()
  assert.equal((await shop.visit(agent, { certificate })).status, 200)
  // A failover that lost events: another epoch, in which the number of a revocation is used again.
  site.beginEpoch()
  site.changeUnsent(1, 7, 1)
  elapsed.pass(10_000)
  for (const each of site.open) each.destroy()
  await until(async () => (await shop.visit(agent, { certificate })).status === 401)
  assert.deepEqual((await shop.visit(agent, { certificate })).reasons, ['certificate-replaced'])
  assertAnonymous(site)
})

test('a feed that ends is followed again from the cursor', async (t) => {
  const site = await startIssuerSite(t)
  const shop = startOfflineSite(t, [site])
  const agent = offlineAgent(site.origin)
  const certificate = await site.issuer.certificate(agent)
  await site.untilFollowed()
  for (const each of site.open) each.destroy()
  await site.untilFollowed(2)
  site.change(1, 7, 2)
  await until(async () => (await shop.visit(agent, { certificate })).status === 403)
  assert.equal(site.asked.filter((path) => path === '/api/v1/snapshot').length, 1)
})

test('several gateways of a process share one connection, which ends with the last of them', async (t) => {
  const site = await startIssuerSite(t)
  const shops = [startOfflineSite(t, [site]), startOfflineSite(t, [site])]
  await site.untilFollowed()
  assert.equal(site.open.size, 1)
  assert.deepEqual(
    site.asked.filter((path) => path === '/api/v1/feed'),
    ['/api/v1/feed'],
  )
  await shops[0]?.close()
  assert.equal(site.open.size, 1)
  await shops[1]?.close()
  await until(async () => site.open.size === 0)
})

test('agents of several issuers: each by its prefix, with its names', async (t) => {
  const [own, acme] = [await startIssuerSite(t), await startIssuerSite(t)]
  const trust = [
    { issuer: own.origin, didPrefix: 'svc:agent:' },
    { issuer: acme.origin, didPrefix: 'acme:agent:', idHeader: 'AcmeID' },
  ]
  const shop = startOfflineSite(t, [own, acme], { policy: { ...PROVEN, trust } })
  await Promise.all([own.untilFollowed(), acme.untilFollowed()])
  const agent = offlineAgent(own.origin)
  const other = offlineAgent(acme.origin, 0, { shortName: 'acme' })
  const admitted = await shop.visit(agent, { certificate: await own.issuer.certificate(agent) })
  assert.deepEqual([admitted.status, admitted.decision.issuer], [200, own.origin])
  const certificate = await acme.issuer.certificate(other)
  const theirs = await shop.send(await namedBy('AcmeID'))
  assert.deepEqual(
    [theirs.status, theirs.decision.issuer, theirs.decision.did],
    [200, acme.origin, other.did],
  )
  // A restriction at one issuer is none at the other, although list and index are the same.
  own.change(1, 7, 1)
  await until(async () => {
    const tokens = { certificate: await own.issuer.certificate(agent) }
    return (await shop.visit(agent, tokens)).status === 401
  })
  assert.equal((await shop.send(await namedBy('AcmeID'))).status, 200)
  // The header of this site names somebody else.
  const both = await namedBy('AcmeID')
  both.headers.set('ServiceID', agent.did)
  assert.deepEqual((await shop.send(both)).reasons, ['identification-conflict'])
  // No certificate of one issuer counts for an agent of the other.
  const stolen = await acme.issuer.certificate({ ...agent, publicKey: other.publicKey })
  assert.deepEqual((await shop.visit(other, { certificate: stolen })).status, 401)
  const crossed = await shop.visit(agent, { certificate: await acme.issuer.certificate(agent) })
  assert.deepEqual(crossed.reasons, ['certificate-invalid'])
  assertAnonymous(acme)

  function namedBy(idHeader: string) {
    return signed(other, { certificate }, {}, idHeader)
  }
})

test('allow and deny lists name agents of every trusted issuer', async (t) => {
  const [own, acme] = [await startIssuerSite(t), await startIssuerSite(t)]
  const other = offlineAgent(acme.origin, 0, { shortName: 'acme' })
  const trust = [{ issuer: acme.origin, didPrefix: 'acme:agent:' }]
  const shop = startOfflineSite(t, [own], { policy: { ...PROVEN, trust, deny: [other.did] } })
  await acme.untilFollowed()
  const certificate = await acme.issuer.certificate(other)
  assert.deepEqual((await shop.visit(other, { certificate })).reasons[0], 'deny-list')
  const unknown = { ...PROVEN, trust, deny: [`other:agent:${'A'.repeat(24)}`] }
  assert.throws(() => startOfflineSite(t, [own], { policy: unknown }), PolicyError)
})

test('two issuers of one prefix, and other mistakes in trust, are reported at the start', async (t) => {
  const site = await startIssuerSite(t)
  const own = { issuer: site.origin, didPrefix: 'svc:agent:' }
  const cases: [unknown[], RegExp][] = [
    [[own, { issuer: 'https://b.example', didPrefix: 'svc:agent:' }], /a DID has one issuer/],
    [[{ issuer: 'https://b.example', didPrefix: 'svc:agent:' }], /a DID has one issuer/],
    [[{ issuer: site.origin, didPrefix: 'acme:agent:' }], /a DID has one issuer/],
    [[own, { ...own, didPrefix: 'acme:agent:' }], /issuer is that of/],
    [[{ ...own, issuer: 'http://b.example' }], /https origin/],
    [[{ ...own, issuer: 'https://b.example/x' }], /https origin/],
    [[{ ...own, didPrefix: 'svc:' }], /what its DIDs begin with/],
    [[{ ...own, jwks: { keys: [] } }], /key set/],
    [[{ ...own, key: 'x' }], /key is unknown/],
  ]
  for (const [trust, message] of cases) {
    const policy = { ...PROVEN, trust: trust as never }
    assert.throws(() => startOfflineSite(t, [site], { policy }), message, JSON.stringify(trust))
  }
  const unheard = { audiences: [], policy: { trust: [own] } }
  assert.throws(() => startOfflineSite(t, [site], unheard), /policy\.trust requires/)
  const offline = { maxStaleSeconds: 1 }
  assert.throws(() => startOfflineSite(t, [site], { policy: { offline } }), /maxStaleSeconds/)
})

test('a policy that is only examined opens no connection', async (t) => {
  const site = await startIssuerSite(t)
  const trust = [{ issuer: site.origin, didPrefix: 'svc:agent:' }]
  const options = { service: site.origin, audiences: [SHOP], policy: { ...PROVEN, trust } }
  const examined = new Gate(options)
  assert.deepEqual(examined.policy.trust[0]?.issuer, site.origin)
  // A gateway that follows shows that there was time for it.
  startOfflineSite(t, [await startIssuerSite(t)])
  const followed = startOfflineSite(t, [site])
  await site.untilFollowed()
  await followed.close()
  assert.equal(site.asked.filter((path) => path === '/api/v1/feed').length, 1)
})
