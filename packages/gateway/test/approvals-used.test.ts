import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import type { RawRequest } from '@countersign/protocol'
import { memoryNonceStore, type NonceStore, Registry, type UsedNonce } from '@countersign/sdk'
import { Redis } from 'ioredis'
import {
  approvalToken,
  JSON_TYPE,
  PURCHASE,
  serviceSigner,
} from '../../../test/support/approval-token.ts'
import { PATIENT_CLIENT } from '../../../test/support/patient-client.ts'
import { startRedis } from '../../../test/support/redis.ts'
import { type Cleanup, startTestService } from '../../../test/support/service.ts'
import { testIssuer } from '../../../test/support/test-issuer.ts'
import { needs } from '../../../test/support/tools.ts'
import type { Decision } from '../src/decision/decision.ts'
import { agentOf, gateway } from '../src/fetch.ts'
import { Gate } from '../src/gate.ts'
import { PolicyError } from '../src/index.ts'
import type { GatewayOptions, RegistryClient } from '../src/options.ts'
import type { PolicyInput } from '../src/policy/policy.ts'
import { redisNonceStore } from '../src/redis-nonce-store.ts'
import { NEEDS_APPROVAL, withApproval } from './support/approvals.ts'
import { addHop, holderOf, workerKey } from './support/delegation.ts'
import { startIssuerSite } from './support/issuer-site.ts'
import { offlineAgent, startOfflineSite } from './support/offline.ts'
import { olderNonceStore, SHOP, signingAgent } from './support/signing.ts'

async function issuerWithAgent(t: Cleanup) {
  const issuer = await startIssuerSite(t)
  const keys = generateKeyPairSync('ed25519')
  const agent = offlineAgent(issuer.origin, 0, { keys })
  const certificate = await issuer.issuer.certificate(agent, {}, { maxDelegationDepth: 1 })
  const site = async (policy: PolicyInput, options: Partial<GatewayOptions> = {}) => {
    const started = startOfflineSite(t, [issuer], { policy, ...options })
    await issuer.untilFollowed()
    let last: Decision | null = null
    return {
      ...started,
      last: () => last ?? assert.fail('no decision'),
      outcome: async (approval: string | null, init?: Parameters<typeof withApproval>[3]) => {
        const request = await withApproval(agent, { certificate }, approval, init)
        const { status, reasons, decision } = await started.send(request)
        last = decision
        return [status, reasons[0]]
      },
    }
  }
  return {
    issuer,
    agent,
    keys,
    certificate,
    site,
    approve: () => approvalToken(issuer.issuer, agent.did),
  }
}

test(
  'of 25 requests with one approval at two gateways with one Redis, one is admitted',
  needs('redis-server'),
  async (t) => {
    const { agent, certificate, site, approve } = await issuerWithAgent(t)
    const redis = await startRedis(t)
    const client = new Redis(redis.url)
    const clients = [new Redis(redis.url), new Redis(redis.url)]
    t.after(() => [client, ...clients].map((each) => each.disconnect()))
    const patient = { timeoutMs: 30_000 }
    await client.set('countersign:nonce:since', `${Date.now() - 60_000}.${'A'.repeat(22)}`)
    const sites = await Promise.all(
      clients.map((each) => site(NEEDS_APPROVAL, { nonces: redisNonceStore(each, patient) })),
    )
    const approval = await approve()
    const requests = await Promise.all(
      Array.from({ length: 25 }, () => withApproval(agent, { certificate }, approval)),
    )
    const statuses = await Promise.all(
      requests.map(async (each, i) => (await sites[i % 2]?.send(each))?.status),
    )
    const counts = Object.groupBy(statuses, String)
    assert.deepEqual([counts[200]?.length, counts[403]?.length], [1, 24], statuses.join())
    assert.deepEqual(await sites[0]?.outcome(approval), [403, 'approval-used'])
  },
)

test('after a restart with the memory of a process, earlier approvals do not count, and waiting does not help', async (t) => {
  const { site, approve } = await issuerWithAgent(t)
  const restart = () => {
    const approvals = memoryNonceStore(undefined, Date.now)
    const record: NonceStore['record'] = (each) =>
      // Signatures with a nonce of the store count at once.
      each.nonce === undefined ? approvals.record(each) : 'fresh'
    return site(NEEDS_APPROVAL, { nonces: { ...approvals, record } })
  }
  const first = await site(NEEDS_APPROVAL)
  const used = await approve()
  const unused = await approve()
  assert.deepEqual(await first.outcome(used), [200, 'owner-verified'])
  const second = await restart()
  for (const token of [used, unused]) {
    assert.deepEqual(await second.outcome(token), [503, 'approval-unchecked'])
    assert.equal(second.last().refusal?.retryAfterSeconds, null)
  }
})

test('a refusal by any other rule, or by the rate limit, uses nothing up', async (t) => {
  const { agent, site, approve, certificate } = await issuerWithAgent(t)
  const nonces = olderNonceStore()
  const token = await approve()
  const refusing: PolicyInput[] = [
    { minimumGrade: 'A' },
    { deny: [agent.did] },
    { statuses: ['suspended'] },
    { levels: { verified: 'deny' } },
  ]
  for (const policy of refusing) {
    const { outcome } = await site({ approval: {}, ...policy }, { nonces })
    const [status, reason] = await outcome(token)
    assert.equal(status, 403, JSON.stringify(policy))
    assert.doesNotMatch(String(reason), /^approval/, JSON.stringify(policy))
  }
  const limited = await site(
    { approval: {}, levels: { verified: 'limit' }, limit: { requests: 1, seconds: 3600 } },
    { nonces },
  )
  assert.deepEqual(await limited.outcome(await approve()), [200, 'owner-verified'])
  assert.deepEqual(await limited.outcome(token), [429, 'over-limit'])
  // A body that was changed on its way, under the digest that was signed and approved.
  const open = await site({ approval: {} }, { nonces })
  const changed = await withApproval(agent, { certificate }, token)
  const forged = new Request(changed.url, { ...PURCHASE, headers: changed.headers, body: '{}' })
  assert.equal((await open.send(forged)).decision.signature?.reason, 'digest')
  assert.deepEqual(await open.outcome(token), [200, 'owner-verified'])
  assert.deepEqual(await open.outcome(token), [403, 'approval-used'])
})

test('in shadow mode, nothing is used up, and the site is not told of an approval', async (t) => {
  const { agent, certificate, site, approve } = await issuerWithAgent(t)
  const nonces = olderNonceStore()
  const shadow = await site({ ...NEEDS_APPROVAL, mode: 'shadow' }, { nonces })
  const token = await approve()
  for (let n = 0; n < 2; n++) {
    const request = await withApproval(agent, { certificate }, token)
    const { decision } = await shadow.send(request)
    assert.deepEqual([decision.action, decision.approval?.by], ['allow', 'passkey'])
  }
  const { decision, status } = await shadow.send(await withApproval(agent, { certificate }, null))
  assert.deepEqual([status, decision.action, decision.approval], [200, 'deny', null])
  assert.deepEqual(await (await site(NEEDS_APPROVAL, { nonces })).outcome(token), [
    200,
    'owner-verified',
  ])
})

test('a delegate may send what was approved, within the limits of its chain, and once', async (t) => {
  const { issuer, agent, keys, certificate, site, approve } = await issuerWithAgent(t)
  const { send } = await site({ approval: {}, delegation: {} })
  const by = {
    sign: async (message: Uint8Array) => new Uint8Array(sign(null, message, keys.privateKey)),
  }
  const request = async (limits: object, approval: string) => {
    const key = workerKey()
    const chain = await addHop(certificate, by, key, { limits })
    const service = { url: issuer.origin } as never
    const worker = holderOf({ did: agent.did, service }, key, chain)
    const headers = { 'content-type': JSON_TYPE, 'ServiceID-Approval': approval }
    return send(await worker.request(`${SHOP}/orders`, { ...PURCHASE, headers }))
  }
  const token = await approve()
  const outside = await request({ methods: ['GET'] }, token)
  assert.deepEqual([outside.status, outside.reasons[0]], [403, 'delegation-limit'])
  const within = await request({ methods: ['POST'] }, token)
  assert.deepEqual([within.status, within.decision.approval?.by], [200, 'passkey'])
  const again = await request({}, token)
  assert.deepEqual([again.status, again.reasons[0]], [403, 'approval-used'])
})

test('without trust, the service says whose approvals count; nobody else’s keys do', async (t) => {
  const service = await startTestService(t)
  const { agent, did } = await signingAgent(service)
  const own = await serviceSigner(service)
  const registry = new Registry(service.url, PATIENT_CLIENT)
  const decisions: Decision[] = []
  const start = (client: RegistryClient, nonces = olderNonceStore()) => {
    const options = { service: client, audiences: [SHOP], nonces, timeoutMs: 30_000 }
    const handler = gateway({
      ...options,
      policy: { approval: {} },
      onDecision: (decision) => decisions.push(decision),
    })((request: Request) => Response.json(agentOf(request)))
    return async (token: string) => {
      const headers = { 'content-type': JSON_TYPE, 'ServiceID-Approval': token }
      const { status } = await handler(await agent.sign(`${SHOP}/orders`, { ...PURCHASE, headers }))
      return [status, decisions.at(-1)?.reasons[0].code]
    }
  }
  const forged = await approvalToken(testIssuer(service.url), did)
  const visit = start(registry)
  assert.deepEqual(await visit(forged), [403, 'approval-invalid'])
  const token = await approvalToken(own, did)
  assert.deepEqual(await visit(token), [200, 'owner-verified'])
  assert.deepEqual(await visit(token), [403, 'approval-used'])
  const client = (verify: RegistryClient['verifyApproval']): RegistryClient => ({
    service: registry.service,
    naming: registry.naming,
    lookup: (...args) => registry.lookup(...args),
    grade: (...args) => registry.grade(...args),
    agent: (...args) => registry.agent(...args),
    ...(verify && { verifyApproval: verify }),
  })
  const failing = client(async () => {
    throw new Error('no keys')
  })
  assert.deepEqual(await start(failing)(token), [503, 'service-unreachable'])
  assert.throws(() => start(client(undefined)), PolicyError)
  const broken = { record: () => assert.fail('the store is down') }
  const unknown = await approvalToken(own, did)
  const record = (nonce: UsedNonce) => (nonce.nonce === undefined ? broken.record() : 'fresh')
  assert.deepEqual(await start(registry, { record } as never)(unknown), [503, 'approval-unchecked'])
  const full = {
    record: (each: UsedNonce) => (each.nonce === undefined ? 'share-exceeded' : 'fresh'),
  }
  assert.deepEqual(await start(registry, full as never)(unknown), [429, 'over-limit'])
})

test('a preflight passes; a request that servers read differently needs an approval if any route does', async (t) => {
  const { agent, certificate, site, approve } = await issuerWithAgent(t)
  const { send } = await site(NEEDS_APPROVAL)
  const preflight = new Request(`${SHOP}/orders`, {
    method: 'OPTIONS',
    headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
  })
  assert.equal((await send(preflight)).status, 200)
  const reasonAt = async (path: string, token: string | null) => {
    const url = `${SHOP}${path}`
    const request = await withApproval(agent, { certificate }, token, { ...PURCHASE, url })
    return (await send(request)).reasons[0]
  }
  assert.equal(await reasonAt('/orders;x', null), 'approval-required')
  assert.equal(await reasonAt('/ORDERS/', null), 'approval-required')
  assert.equal(await reasonAt('/other', null), 'owner-verified')
  assert.equal(await reasonAt('/orders;x', await approve()), 'approval-mismatch')
})

test('a gateway that fails refuses what needs an approval, and another policy keeps what was used', async (t) => {
  const { issuer, agent, certificate, approve } = await issuerWithAgent(t)
  const policy: PolicyInput = {
    ...NEEDS_APPROVAL,
    unreachable: 'allow',
    trust: [{ issuer: issuer.origin, didPrefix: 'svc:agent:' }],
  }
  const options = { service: issuer.origin, audiences: [SHOP], followsIssuers: true, policy }
  const first = new Gate({ ...options, nonces: olderNonceStore() })
  const next = new Gate({ ...options, policy: { ...policy, cacheSeconds: 1 } }, first)
  t.after(() => Promise.all([first.close(), next.close()]))
  const decide = async (gate: Gate, request: Request) => {
    const { decision } = await gate.decide({
      method: 'POST',
      target: '/orders',
      identification: agent.did,
      authorization: 'Bearer abc',
      address: () => null,
      preflight: false,
      signed: true,
      raw: rawOf(request),
      readBody: async () => new Uint8Array(await request.clone().arrayBuffer()),
    })
    return `${decision.action} ${decision.reasons[0].code}`
  }
  const token = await approve()
  const request = () => withApproval(agent, { certificate }, token)
  assert.equal(await decide(first, await request()), 'allow owner-verified')
  assert.equal(await decide(next, await request()), 'deny approval-used')
  const failing = new Gate({
    ...options,
    nonces: olderNonceStore(),
    sessions: { session: () => assert.fail('no session') },
  })
  t.after(() => failing.close())
  assert.equal(await decide(failing, await request()), 'deny gateway-failed')
})

function rawOf({ method, headers }: Request) {
  return (): RawRequest => ({
    method,
    scheme: 'https',
    authority: 'shop.example',
    target: '/orders',
    headers: [...headers],
  })
}
