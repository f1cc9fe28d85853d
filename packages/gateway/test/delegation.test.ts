import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { keyThumbprint } from '@countersign/protocol'
import { DelegatedAgent, newKey } from '@countersign/sdk'
import { fileCleanup } from '../../../test/support/file-cleanup.ts'
import { type Cleanup, startTestService, type TestService } from '../../../test/support/service.ts'
import type { Decision } from '../src/decision/decision.ts'
import type { GatewayOptions } from '../src/options.ts'
import type { PolicyInput } from '../src/policy/policy.ts'
import {
  addHop,
  type Delegator,
  delegator,
  type HopChanges,
  holderOf,
  sessionOf,
  workerKey,
  workerOf,
} from './support/delegation.ts'
import { FRAMEWORKS, type Seen, type StartApp } from './support/frameworks.ts'
import { olderNonceStore, SHOP, send, signingAgent } from './support/signing.ts'

let service: TestService
let agent: Delegator
const cleanup = fileCleanup()

before(async () => {
  service = await startTestService(cleanup)
  agent = await delegator(service)
})

const OPEN: PolicyInput = { requireProof: true, delegation: {} }
const WIDE: PolicyInput = {
  requireProof: true,
  delegation: { maxDepth: 3, maxSeconds: 86_400, mcp: true },
}

async function shop(
  t: Cleanup,
  policy: PolicyInput,
  start: StartApp | undefined = FRAMEWORKS.fetch,
  options: Partial<GatewayOptions> = {},
) {
  const decisions: Decision[] = []
  const url = await (start ?? assert.fail())(t, {
    service: service.url,
    timeoutMs: 30_000,
    audiences: [SHOP],
    tlsTerminated: true,
    nonces: olderNonceStore(),
    policy,
    onDecision: (decision) => decisions.push(decision),
    ...options,
  })
  const last = () => decisions.at(-1) ?? assert.fail('no decision')
  /** The status, the deciding reason and that of the signature. */
  const outcome = async (
    ...args: Parameters<typeof send> extends [string, ...infer R] ? R : never
  ) => {
    const { status } = await send(url, ...args)
    return [status, last().reasons[0].code, last().signature?.reason ?? null]
  }
  return { url, last, outcome }
}

for (const [name, start] of Object.entries(FRAMEWORKS)) {
  test(`${name}: no delegate is admitted by default, and those that the policy accepts are named to the site`, async (t) => {
    const { did } = agent
    const worker = await workerOf(agent)
    const closed = await shop(t, { requireProof: true, allow: [did] }, start)
    const refused = await send(closed.url, await worker.request())
    assert.equal(refused.status, 403)
    assert.deepEqual(JSON.parse(refused.text).error.reasons, [
      'delegation-refused',
      'signature-proven',
    ])
    assert.equal(closed.last().signature?.reason, 'delegation-refused')

    const { url, last } = await shop(t, OPEN, start)
    const forged = { 'X-ServiceID-Delegate': 'forged', x_serviceid_delegate: 'forged' }
    const answer = await send(url, await worker.request(), { headers: forged })
    assert.equal(answer.status, 200, answer.text)
    const seen = JSON.parse(answer.text) as Seen
    const keyid = keyThumbprint(worker.key.publicKey)
    assert.deepEqual([seen.agent.did, seen.agent.proof], [did, 'signature'])
    assert.deepEqual({ ...seen.agent.delegation, expiresAt: 0 }, { keyid, depth: 1, expiresAt: 0 })
    assert.deepEqual(delegatesIn(seen), [keyid])
    assert.equal(last().signature?.keyid, keyid)

    const own = await send(url, await agent.agent.sign(`${SHOP}/orders`), { headers: forged })
    assert.equal(own.status, 200, own.text)
    const ownSeen = JSON.parse(own.text) as Seen
    assert.deepEqual([ownSeen.agent.delegation, delegatesIn(ownSeen)], [null, []])
  })

  test(`${name}: paths, methods and override headers outside the limits are refused`, async (t) => {
    const { url, outcome, last } = await shop(t, OPEN, start)
    const limits = { methods: ['GET', 'POST'], paths: ['/orders', '/orders/*'] }
    const worker = await workerOf(agent, [{ limits }])
    assert.equal((await send(url, await worker.request(`${SHOP}/orders/1`))).status, 200)
    const override = { 'x-http-method-override': 'DELETE' }
    const rows: readonly (readonly [string, RequestInit])[] = [
      ['/admin', {}],
      ['/Orders', {}],
      ['/orders;a=b', {}],
      ['/orders//1', {}],
      ['/orders/%2e%2e%2fadmin', {}],
      ['/orders/1', { method: 'DELETE' }],
      ['/orders/1', { method: 'HEAD' }],
      ['/orders/1', { headers: override }],
      ['/orders/1', { headers: { x_http_method: 'DELETE' } }],
      ['/orders/1', { headers: { 'x-original-url': '/admin' } }],
    ]
    for (const [path, init] of rows) {
      const outside = await outcome(await worker.request(SHOP + path, init))
      const expected = [403, 'delegation-limit', 'delegation-limit']
      assert.deepEqual(outside, expected, `${init.method ?? ''} ${path}`)
      assert.equal(last().did, null)
    }
  })
}

/** What the application sees of the header for delegates, by any of its names. */
function delegatesIn({ fields }: Seen): string[] {
  const values = fields.filter(([field]) => /^x.serviceid.delegate$/i.test(field))
  return [...new Set(values.map(([, value]) => value))]
}

test('each rule says how deep, for how long, and whether by calls of MCP', async (t) => {
  const routes = [
    { path: '/closed', delegation: null },
    { path: '/wide', delegation: WIDE.delegation ?? null },
  ]
  const { outcome } = await shop(t, { ...OPEN, routes })
  const kinds: Record<string, readonly HopChanges[]> = {
    deep: [{}, {}],
    long: [{ expiresIn: 3_601 }],
    mcp: [{ limits: { mcp: ['tools/list'] } }],
  }
  for (const [kind, hops] of Object.entries(kinds)) {
    const worker = await workerOf(agent, hops)
    const init = { headers: { 'mcp-method': 'tools/list' } }
    assert.equal(
      (await outcome(await worker.request(`${SHOP}/orders`, init)))[1],
      'delegation-refused',
      kind,
    )
    assert.equal((await outcome(await worker.request(`${SHOP}/wide`, init)))[0], 200, kind)
  }
  const worker = await workerOf(agent, [{ expiresIn: 3_600 }])
  assert.equal((await outcome(await worker.request(`${SHOP}/orders`)))[0], 200)
  assert.equal((await outcome(await worker.request(`${SHOP}/closed`)))[1], 'delegation-refused')
  const denied = await shop(t, { ...OPEN, deny: [agent.did] })
  assert.equal((await denied.outcome(await worker.request()))[1], 'deny-list')
})

test('the requests of the SDK’s delegates are admitted', async (t) => {
  const { url } = await shop(t, OPEN)
  const signer = await newKey()
  const publicKey = Buffer.from(signer.publicKey).toString('base64')
  const { chain } = await agent.agent.delegate({ publicKey, origins: [SHOP] })
  const delegate = new DelegatedAgent({ chain, signer })
  assert.equal((await send(url, await delegate.sign(`${SHOP}/orders`))).status, 200)
})

test('a chain that was changed, or that is of others, is refused', async (t) => {
  const { outcome, last } = await shop(t, WIDE, FRAMEWORKS.Express)
  const two = await workerOf(agent, [
    { maxDepth: 1, limits: { paths: ['/orders'] } },
    { limits: { paths: ['/orders'] } },
  ])
  const one = await workerOf(agent)
  const other = await signingAgent(service)
  const middle = two.chain.split('~~')
  const invalid = [401, 'signature-invalid', 'delegation-invalid']
  const stranger = workerKey()
  const chainsOf = {
    'a hop left out': [holderOf(agent, two.key, `${middle[0]}~~${middle[2]}`), invalid],
    'a hop of another chain': [
      holderOf(agent, two.key, `${one.chain}~${middle[2]}`.replace('~~~', '~~')),
      invalid,
    ],
    'by the delegate itself': [
      holderOf(agent, stranger, await addHop(agent.certificate, stranger, stranger)),
      invalid,
    ],
    'a chain of others': [holderOf(agent, stranger, one.chain), invalid],
    'deeper than allowed': [await workerOf(agent, [{ maxDepth: 3 }]), invalid],
    longer: [await workerOf(agent, [{ expiresIn: 86_400 }, { expiresIn: 86_401 }]), invalid],
    wider: [await workerOf(agent, [{ limits: { paths: ['/orders'] } }, {}]), invalid],
    expired: [
      await workerOf(agent, [{ issuedIn: -60, expiresIn: -1 }]),
      [401, 'signature-invalid', 'delegation-expired'],
    ],
    'another agent': [
      holderOf({ ...other, service }, one.key, one.chain),
      [401, 'certificate-invalid', 'delegation-invalid'],
    ],
  } as const
  for (const [kind, [worker, expected]] of Object.entries(chainsOf)) {
    assert.deepEqual(await outcome(await worker.request()), expected, kind)
    assert.deepEqual([last().did, last().delegation], [null, null], kind)
  }
  // Without its chain, the key is nobody's; the chain has to be covered, once.
  const request = await one.request()
  const cut = { headers: { 'serviceid-certificate': [] } }
  assert.deepEqual((await outcome(request, cut)).slice(1), ['signature-invalid', 'malformed'])
  const twice = { headers: { 'serviceid-certificate': [one.chain, one.chain] } }
  assert.deepEqual((await outcome(request, twice)).slice(1), ['signature-invalid', 'malformed'])
  const bare = await one.signer.sign(`${SHOP}/orders`, { headers: { ServiceID: agent.did } })
  assert.deepEqual((await outcome(bare)).slice(2), ['unknown-key'])
  const added = { headers: { 'serviceid-certificate': one.chain } }
  assert.deepEqual((await outcome(bare, added)).slice(1), ['signature-invalid', 'components'])
  const elsewhere = await one.request('https://other.example/orders')
  assert.equal((await outcome(elsewhere, { host: 'shop.example' }))[0], 401)
  const replayed = await one.request()
  assert.equal((await outcome(replayed))[0], 200)
  assert.deepEqual(await outcome(replayed), [401, 'signature-invalid', 'replay'])
  const foreign = await one.request(`${SHOP}/orders`, { headers: { ServiceID: other.did } })
  assert.deepEqual((await outcome(foreign)).slice(2), ['identification-mismatch'])
})

test('without the permission of its owner, an agent’s key delegates nothing', async (t) => {
  const { outcome } = await shop(t, WIDE)
  const never = await signingAgent(service)
  const certificate = await never.registry.certificate(never.did)
  const worker = await workerOf({ ...never, certificate, service })
  assert.deepEqual(await outcome(await worker.request()), [
    401,
    'signature-invalid',
    'delegation-invalid',
  ])
})

test('a session does not widen a chain, and is no way around an invalid one', async (t) => {
  const { sessions, token } = await sessionOf(agent)
  const levels = { none: 'allow', unknown: 'allow' } as const
  const { outcome } = await shop(t, { levels, delegation: {} }, undefined, { sessions })
  const headers = { authorization: `Bearer ${token}` }
  const worker = await workerOf(agent, [{ limits: { paths: ['/orders'] } }])
  assert.equal((await outcome(await worker.request(`${SHOP}/orders`, { headers })))[0], 200)
  const outside = await worker.request(`${SHOP}/admin`, { headers })
  assert.equal((await outcome(outside))[1], 'delegation-limit')
  const expired = await workerOf(agent, [{ issuedIn: -60, expiresIn: -1 }])
  assert.equal((await outcome(await expired.request(`${SHOP}/orders`, { headers })))[0], 401)
  // Nobody knows whose it is: the session does not count instead.
  const unknown = holderOf(
    { did: agent.did, service: { url: 'https://id.invalid' } as TestService },
    worker.key,
    worker.chain,
  )
  assert.deepEqual(await outcome(await unknown.request(`${SHOP}/orders`, { headers })), [
    401,
    'signature-unverified',
    'untrusted-agent',
  ])
  const deaf = await shop(t, { levels }, undefined, { sessions, audiences: [] })
  assert.equal((await deaf.outcome(await worker.request(`${SHOP}/orders`, { headers })))[0], 401)
})

test('delegates share the rate limit and the nonces of their agent', async (t) => {
  const limit = { requests: 2, seconds: 60 }
  const used = new Set<string>()
  const record = ({ keyid }: { readonly keyid: string }) => {
    used.add(keyid)
    return 'fresh' as const
  }
  const policy = { ...OPEN, levels: { verified: 'limit' }, limit } as const
  const { outcome } = await shop(t, policy, undefined, { nonces: { record } })
  const statuses: unknown[] = []
  for (let n = 0; n < 3; n++)
    statuses.push((await outcome(await (await workerOf(agent)).request()))[0])
  assert.deepEqual(statuses, [200, 200, 429])
  assert.deepEqual([...used], [keyThumbprint(agent.key.publicKey)])
})

test('a client of the service that verifies no certificates accepts no chain', async (t) => {
  const { registry } = agent
  const client = {
    service: registry.service,
    naming: registry.naming,
    lookup: registry.lookup.bind(registry),
    grade: registry.grade.bind(registry),
    agent: registry.agent.bind(registry),
  }
  const { outcome } = await shop(t, WIDE, undefined, { service: client })
  assert.deepEqual(await outcome(await (await workerOf(agent)).request()), [
    403,
    'delegation-refused',
    'delegation-refused',
  ])
})
