import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newKey, Registry } from '@countersign/sdk'
import { allowDelegation } from '../../../test/support/allow-delegation.ts'
import { startFeedProxy } from '../../../test/support/feed-proxy.ts'
import { PATIENT_CLIENT } from '../../../test/support/patient-client.ts'
import { startTestService } from '../../../test/support/service.ts'
import { setStatus } from '../../../test/support/set-status.ts'
import { until } from '../../../test/support/until.ts'
import type { Decision } from '../src/decision/decision.ts'
import { gateway } from '../src/fetch.ts'
import type { GatewayOptions } from '../src/options.ts'
import type { PolicyInput } from '../src/policy/policy.ts'
import { delegator, workerOf } from './support/delegation.ts'
import { olderNonceStore, SHOP } from './support/signing.ts'

/** What a site says of a request: status, deciding reason, reason of the signature. */
type Said = readonly [status: number, reason: string, signature: string | null]

function startShop(t: TestContext, options: GatewayOptions) {
  let last: Decision | undefined
  const protect = gateway({
    audiences: [SHOP],
    nonces: olderNonceStore(),
    timeoutMs: 30_000,
    ...options,
    onDecision: (decision) => {
      last = decision
    },
  })
  t.after(() => protect.close())
  const handler = protect(() => new Response('admitted'))
  return async (request: Request): Promise<Said> => {
    const { status } = await handler(request)
    const { reasons, signature } = last ?? assert.fail('no decision')
    return [status, reasons[0].code, signature?.reason ?? null]
  }
}

const OPEN: PolicyInput = { requireProof: true, delegation: { maxDepth: 3 }, cacheSeconds: 0 }
const ENDED: Said = [401, 'certificate-replaced', 'delegation-ended']

/** A site that follows the feed, and one that asks the service. */
async function startSites(t: TestContext) {
  const service = await startTestService(t)
  const trust = [{ issuer: service.url, didPrefix: 'svc:agent:' }]
  const following = startShop(t, { service: service.url, policy: { ...OPEN, trust } })
  const asking = startShop(t, { service: service.url, policy: OPEN })
  return { service, sites: Object.entries({ following, asking }) }
}

test('what ends or restricts an agent ends or restricts its chains, by the feed and by questions', async (t) => {
  const { service, sites } = await startSites(t)
  const changes = {
    'ends all': async ({ agent }) => {
      await agent.endDelegations()
    },
    'may delegate less': ({ owner, did }) => allowDelegation(service, owner, did, 1),
    'changes its key': async ({ agent }) => {
      await agent.rotateKey(await newKey())
    },
    'is revoked': ({ did }) => setStatus(service, did, 'revoked'),
  } satisfies Record<string, (agent: Awaited<ReturnType<typeof delegator>>) => Promise<void>>
  for (const [kind, change] of Object.entries(changes)) {
    const agent = await delegator(service, 2)
    const worker = await workerOf(agent, [{}, {}])
    for (const [mode, visit] of sites) {
      const said = await visit(await worker.request())
      assert.equal(said[0], 200, `${kind}, ${mode}: ${said}`)
    }
    await change(agent)
    for (const [mode, visit] of sites) {
      await until(async () => (await visit(await worker.request()))[0] !== 200)
      assert.deepEqual(await visit(await worker.request()), ENDED, `${kind}, ${mode}`)
    }
  }
})

test('a suspension refuses chains, and a reactivation brings them back', async (t) => {
  const { service, sites } = await startSites(t)
  const agent = await delegator(service, 1)
  const worker = await workerOf(agent)
  const statusAt = async (visit: (request: Request) => Promise<Said>) =>
    (await visit(await worker.request()))[0]
  for (const [, visit] of sites) assert.equal(await statusAt(visit), 200)
  await setStatus(service, agent.did, 'suspended')
  for (const [mode, visit] of sites) {
    await until(async () => (await statusAt(visit)) === 403)
    assert.equal((await visit(await worker.request()))[1], 'status-refused', mode)
  }
  await setStatus(service, agent.did, 'active')
  for (const [, visit] of sites) await until(async () => (await statusAt(visit)) === 200)
})

test('after an end, workers with a new delegation are admitted', async (t) => {
  const { service, sites } = await startSites(t)
  const agent = await delegator(service, 1)
  const before = await workerOf(agent)
  await agent.agent.endDelegations()
  const certificate = await agent.registry.certificate(agent.did, { fresh: true })
  const after = await workerOf({ ...agent, certificate })
  for (const [mode, visit] of sites) {
    await until(async () => (await visit(await before.request()))[0] === 401)
    await until(async () => (await visit(await after.request()))[0] === 200)
    assert.deepEqual(await visit(await before.request()), ENDED, mode)
  }
})

test('one group of workers ends, and the others and the agent itself go on', async (t) => {
  const { service, sites } = await startSites(t)
  const agent = await delegator(service, 1)
  const first = await agent.agent.delegationGroups.create('first')
  const second = await agent.agent.delegationGroups.create('second')
  const ending = await workerOf({ ...agent, certificate: first.certificate })
  const others = [
    await workerOf({ ...agent, certificate: second.certificate }),
    await workerOf(agent),
  ]
  const statusAt = async (visit: (request: Request) => Promise<Said>, request: Promise<Request>) =>
    (await visit(await request))[0]
  for (const [mode, visit] of sites) {
    for (const each of [ending, ...others]) {
      assert.equal(await statusAt(visit, each.request()), 200, mode)
    }
  }
  await agent.agent.delegationGroups.end(first.id)
  for (const [mode, visit] of sites) {
    await until(async () => (await statusAt(visit, ending.request())) !== 200)
    assert.deepEqual(await visit(await ending.request()), ENDED, mode)
    for (const each of others) assert.equal(await statusAt(visit, each.request()), 200, mode)
    assert.equal(await statusAt(visit, agent.agent.sign(`${SHOP}/orders`)), 200, mode)
  }
})

test('while the service is unreachable, no rule of the policy rescues a chain', async (t) => {
  const service = await startTestService(t)
  const agent = await delegator(service, 1)
  const worker = await workerOf(agent)
  for (const unreachable of ['allow', 'flag', 'stale'] as const) {
    let isAway = false
    const reached: typeof fetch = (...args) =>
      isAway ? Promise.reject(new TypeError('fetch failed')) : fetch(...args)
    const registry = new Registry(service.url, { ...PATIENT_CLIENT, fetch: reached })
    const levels = { none: 'allow', unknown: 'allow' } as const
    const policy = { levels, delegation: {}, cacheSeconds: 0, unreachable }
    const visit = startShop(t, { service: registry, policy, timeoutMs: 500 })
    assert.equal((await visit(await worker.request()))[0], 200)
    isAway = true
    const said = await visit(await worker.request())
    assert.deepEqual(said, [503, 'signature-unverified', 'directory-unavailable'], unreachable)
  }
})

test('a site whose feed is frozen refuses chains once what it knows is too old', async (t) => {
  const service = await startTestService(t)
  const agent = await delegator(service, 1)
  const worker = await workerOf(agent)
  const proxy = await startFeedProxy(t, service.url)
  let laterMs = 0
  const visit = startShop(t, {
    service: proxy.url,
    issuer: service.url,
    policy: { ...OPEN, trust: [{ issuer: service.url, didPrefix: 'svc:agent:' }] },
    now: () => performance.now() + laterMs,
  })
  await until(async () => (await visit(await worker.request()))[0] === 200)
  proxy.attack = 'hold-heads'
  proxy.cut()
  assert.equal((await visit(await worker.request()))[0], 200)
  laterMs = 400_000
  assert.deepEqual((await visit(await worker.request())).slice(0, 2), [503, 'service-unreachable'])
})
