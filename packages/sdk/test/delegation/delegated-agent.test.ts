import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { allowDelegation } from '../../../../test/support/allow-delegation.ts'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { Agent, signerOf } from '../../src/agent.ts'
import { DelegatedAgent } from '../../src/delegation/delegated-agent.ts'
import type { DelegateRequest } from '../../src/delegation/sign-delegation.ts'
import type { SignatureResult } from '../../src/index.ts'
import { newKey } from '../../src/keys/keys.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { verifyRequest } from '../../src/relying-party/verify-request.ts'
import { certifiedAgent, registryOf } from '../support/certified.ts'
import { failsWith } from '../support/fails.ts'
import { olderNonceStore, startVerifyingSite } from '../support/signed-site.ts'

const SHOP = 'https://shop.example'
const POLICY = { maxDepth: 3, maxSeconds: 86_400, mcp: true }
const cleanup = fileCleanup()
let service: TestService

before(async () => {
  service = await startTestService(cleanup)
})

/** An agent that may delegate, as an application creates it. */
async function orchestrator(maxDepth = 3) {
  const registry = registryOf(service)
  const { key, did, ownerId } = await certifiedAgent(service, registry)
  if (maxDepth > 0) await allowDelegation(service, ownerId, did, maxDepth)
  return { registry, did, ownerId, agent: new Agent({ registry, signer: key, did }) }
}

const base64Of = ({ publicKey }: Signer) => Buffer.from(publicKey).toString('base64')

async function worker(agent: Pick<Agent, 'delegate'>, request: Omit<DelegateRequest, 'publicKey'>) {
  const signer = await newKey()
  const { chain, expiresAt } = await agent.delegate({ publicKey: base64Of(signer), ...request })
  return { signer, chain, expiresAt, delegate: new DelegatedAgent({ chain, signer }) }
}

/** What `startVerifyingSite` answers. */
const resultIn = async (response: Response) => (await response.json()) as SignatureResult

/** What a site says that knows nothing of the agent yet. */
async function resultOf(request: Request, delegation: typeof POLICY | null = POLICY) {
  const nonces = olderNonceStore()
  const registry = registryOf(service)
  return verifyRequest(request, { registry, audiences: [SHOP], nonces, delegation })
}

test('a worker with a key of its own acts for its agent, where the site accepts delegates, and nowhere by default', async (t) => {
  const { registry, did, agent } = await orchestrator()
  const open = await startVerifyingSite(t, registry, { delegation: POLICY })
  const closed = await startVerifyingSite(t, registry)
  const { delegate, expiresAt, signer } = await worker(agent, {
    origins: [open.site, closed.site],
    methods: ['POST'],
    paths: ['/orders/*'],
    expiresInSeconds: 600,
  })
  assert.equal(delegate.did, did)
  assert.equal(delegate.expiresAt, expiresAt)
  const response = await delegate.fetch(`${open.site}/orders/1`, { method: 'POST', body: '{}' })
  const result = await resultIn(response)
  assert.deepEqual([result.verdict, result.did, result.digest], ['verified', did, 'checked'])
  assert.equal(result.delegation?.depth, 1)
  assert.equal(result.keyid, result.delegation?.keyid)
  assert.deepEqual(result.delegation?.hops[0]?.limits.paths, ['/orders/*'])

  const refused = await delegate.fetch(`${closed.site}/orders/1`, { method: 'POST', body: '{}' })
  assert.equal((await resultIn(refused)).reason, 'delegation-refused')

  const count = open.received.length
  await failsWith('OUTSIDE_DELEGATION', delegate.fetch(`${open.site}/orders/1`))
  await failsWith('OUTSIDE_DELEGATION', delegate.fetch(`${open.site}/admin`, { method: 'POST' }))
  await failsWith(
    'OUTSIDE_DELEGATION',
    delegate.fetch(`${open.site}/orders//1`, { method: 'POST' }),
  )
  const headers = { 'x-http-method-override': 'DELETE' }
  const override = { method: 'POST', headers }
  await failsWith('OUTSIDE_DELEGATION', delegate.fetch(`${open.site}/orders/1`, override))
  await failsWith('WRONG_AUDIENCE', delegate.fetch('https://other.example/orders/1'))
  assert.equal(open.received.length, count, 'nothing outside the limits is sent')

  // Without its chain, the key is nobody's.
  const alone = new Agent({ registry, signer, did, audiences: [open.site] })
  const unknown = await resultIn(await alone.fetch(`${open.site}/orders/1`))
  assert.equal(unknown.reason, 'unknown-key')
})

test('a redirect out of the limits is not followed', async (t) => {
  const { registry, agent } = await orchestrator()
  const { site } = await startVerifyingSite(t, registry, { delegation: POLICY })
  const { delegate } = await worker(agent, { origins: [site], paths: ['/to', '/in'] })
  assert.equal((await delegate.fetch(`${site}/to?${encodeURIComponent('/in')}`)).status, 200)
  const outside = delegate.fetch(`${site}/to?${encodeURIComponent('/admin')}`)
  await failsWith('OUTSIDE_DELEGATION', outside)
})

test('a delegate delegates further, never wider, longer or deeper', async () => {
  const { agent, did } = await orchestrator(2)
  const limits = { origins: [SHOP], methods: ['GET', 'POST'], paths: ['/orders/*'] }
  const first = await worker(agent, { ...limits, maxDepth: 1, expiresInSeconds: 60 })
  const second = await worker(first.delegate, { origins: [SHOP], methods: ['GET'] })
  assert.equal(second.expiresAt, first.expiresAt, 'no longer than the one before')
  const result = await resultOf(await second.delegate.sign(`${SHOP}/orders/1`))
  assert.deepEqual([result.verdict, result.did, result.delegation?.depth], ['verified', did, 2])
  assert.deepEqual(result.delegation?.hops[1]?.limits.paths, ['/orders/*'], 'limits are kept')
  assert.equal(
    (await resultOf(await second.delegate.sign(`${SHOP}/orders/1`), { ...POLICY, maxDepth: 1 }))
      .reason,
    'delegation-refused',
  )

  const publicKey = base64Of(await newKey())
  const wider = { publicKey, origins: [SHOP], methods: ['DELETE'] }
  await failsWith('INVALID_ARGUMENT', first.delegate.delegate(wider))
  await failsWith(
    'INVALID_ARGUMENT',
    first.delegate.delegate({ publicKey, origins: [SHOP], paths: ['/*'] }),
  )
  await failsWith(
    'DELEGATION_NOT_ALLOWED',
    second.delegate.delegate({ publicKey, origins: [SHOP] }),
  )
  await failsWith(
    'DELEGATION_NOT_ALLOWED',
    first.delegate.delegate({ publicKey, origins: [SHOP], maxDepth: 1 }),
  )
  const self = { publicKey: agent.publicKey, origins: [SHOP] }
  await failsWith('INVALID_ARGUMENT', agent.delegate(self))
})

test('an agent delegates only if its owner allows it, and only what verifiers accept', async () => {
  const { agent } = await orchestrator(0)
  const publicKey = base64Of(await newKey())
  await failsWith('DELEGATION_NOT_ALLOWED', agent.delegate({ publicKey, origins: [SHOP] }))
  const allowed = (await orchestrator(1)).agent
  await failsWith('INVALID_ARGUMENT', allowed.delegate({ publicKey } as never))
  await failsWith(
    'DELEGATION_NOT_ALLOWED',
    allowed.delegate({ publicKey, origins: [SHOP], maxDepth: 1 }),
  )
  const wrong: Partial<DelegateRequest>[] = [
    { origins: [] },
    { origins: ['http://shop.example'] },
    { origins: [`${SHOP}/orders`] },
    { methods: ['get'] },
    { paths: ['/orders/../admin'] },
    { mcp: ['tools/call a b'] },
    { expiresInSeconds: 0 },
    { expiresInSeconds: 86_401 },
    { maxDepth: -1 },
    { maxDepth: Number.NaN },
    { publicKey: 'AAAA' },
    { publicKey: Buffer.alloc(32).toString('base64') },
    {
      origins: Array.from({ length: 8 }, (_, at) => `https://${'a'.repeat(60)}${at}.example`),
      paths: Array.from({ length: 8 }, (_, at) => `/${'p'.repeat(126)}${at}`),
      mcp: Array.from({ length: 16 }, (_, at) => `tools/call ${'n'.repeat(120)}${at}`),
    },
  ]
  for (const change of wrong) {
    const request = { publicKey, origins: [SHOP], ...change }
    await failsWith('INVALID_ARGUMENT', allowed.delegate(request))
  }
})

test('endDelegations ends every chain, and the agent delegates anew at once', async () => {
  const { agent, did } = await orchestrator()
  const { delegate } = await worker(agent, { origins: [SHOP] })
  assert.equal((await resultOf(await delegate.sign(SHOP))).verdict, 'verified')
  const ended = await agent.endDelegations()
  assert.equal(ended.did, did)
  assert.match(ended.endedAt ?? '', /^20/)
  const { reason, delegation } = await resultOf(await delegate.sign(SHOP))
  assert.equal(reason, 'delegation-ended')
  assert.equal(delegation?.depth, 1)
  const next = await worker(agent, { origins: [SHOP] })
  assert.equal((await resultOf(await next.delegate.sign(SHOP))).verdict, 'verified')

  const never = (await orchestrator(0)).agent
  assert.equal((await never.endDelegations()).endedAt, null)
})

test('chains end with the key, and pause with a suspension', async () => {
  const { agent, did } = await orchestrator()
  const { delegate } = await worker(agent, { origins: [SHOP] })
  await setStatus(service, did, 'suspended')
  assert.equal((await resultOf(await delegate.sign(SHOP))).reason, 'suspended')
  await setStatus(service, did, 'active')
  assert.equal((await resultOf(await delegate.sign(SHOP))).verdict, 'verified')
  await agent.rotateKey(await newKey())
  assert.equal((await resultOf(await delegate.sign(SHOP))).reason, 'delegation-ended')
  const later = await worker(agent, { origins: [SHOP] })
  await setStatus(service, did, 'revoked')
  assert.equal((await resultOf(await later.delegate.sign(SHOP))).reason, 'delegation-ended')
})

test('a function is asked for a chain before the first request, and before it expires', async (t) => {
  const { registry, did, agent: holder } = await orchestrator()
  const { site } = await startVerifyingSite(t, registry, { delegation: POLICY })
  let now = Date.now()
  const clock = () => now
  // The private key of the orchestrator stays where it is.
  const agent = new Agent({ registry, signer: signerOf(holder), did, now: clock })
  const signer = await newKey()
  let asked = 0
  const chain = async () => {
    asked += 1
    const request = { publicKey: base64Of(signer), origins: [site], expiresInSeconds: 60 }
    return (await agent.delegate(request)).chain
  }
  const delegate = new DelegatedAgent({ chain, signer, now: clock })
  assert.deepEqual([delegate.did, delegate.expiresAt, asked], [null, null, 0])
  const many = await Promise.all([1, 2, 3].map(() => delegate.fetch(site)))
  assert.deepEqual(
    many.map(({ status }) => status),
    [200, 200, 200],
  )
  assert.deepEqual([delegate.did, asked], [did, 1])
  now += 44_000
  await delegate.sign(site)
  assert.equal(asked, 1)
  now += 2_000
  await delegate.sign(site)
  assert.equal(asked, 2)
})

test('a function is asked for a chain once after a 401', async (t) => {
  const { agent } = await orchestrator()
  const { site, received } = await startVerifyingSite(t, registryOf(service), {
    delegation: POLICY,
  })
  const refusing = await startVerifyingSite(t, registryOf(service))
  const signer = await newKey()
  let asked = 0
  const chain = async () => {
    asked += 1
    const request = { publicKey: base64Of(signer), origins: [site, refusing.site] }
    return (await agent.delegate(request)).chain
  }
  const delegate = new DelegatedAgent({ chain, signer })
  await delegate.sign(site)
  await agent.endDelegations()
  assert.equal((await delegate.fetch(site)).status, 200)
  assert.deepEqual([asked, received.length], [2, 2])
  assert.equal((await delegate.fetch(refusing.site)).status, 401)
  assert.deepEqual([asked, refusing.received.length], [2, 1])
})

test('what is no chain, or one for another key, is refused before anything is signed', async () => {
  const { agent } = await orchestrator()
  const { chain, signer } = await worker(agent, { origins: [SHOP] })
  const other = await newKey()
  await failsWith('UNUSABLE_KEY', () => new DelegatedAgent({ chain, signer: other }))
  for (const wrong of ['', 'a~~b~', chain.slice(0, -1), chain.split('~')[0] ?? '']) {
    await failsWith('INVALID_ARGUMENT', () => new DelegatedAgent({ chain: wrong, signer }))
  }
  const naming = { shortName: 'acme' }
  await failsWith('INVALID_ARGUMENT', () => new DelegatedAgent({ chain, signer, naming }))
  const later = () => Date.now() + 3_700_000
  const expired = new DelegatedAgent({ chain, signer, now: later })
  await failsWith('OUTSIDE_DELEGATION', expired.sign(SHOP))
})

test('the key of a delegate proves nothing elsewhere, and a hop is never signed as a challenge', async () => {
  const { registry, agent } = await orchestrator()
  const { signer, chain } = await worker(agent, { origins: [SHOP] })
  const own = new Agent({ registry, signer })
  const answer = await own.answerUnbound('a challenge of a site')
  await failsWith('NOT_FOUND', registry.verify(answer))
  await failsWith('NOT_FOUND', registry.lookup(base64Of(signer)))
  await failsWith('NO_DID', own.delegate({ publicKey: base64Of(await newKey()), origins: [SHOP] }))
  const [, , hop = ''] = chain.split('~')
  const input = hop.slice(0, hop.lastIndexOf('.'))
  await failsWith('NOT_A_CHALLENGE', agent.answerUnbound(input))
})

test('a policy of the site that would accept what nobody meant is an error', async () => {
  const { registry } = await orchestrator(0)
  const delegation = { ...POLICY, maxSeconds: Number.NaN }
  const options = { registry, audiences: [SHOP], nonces: olderNonceStore(), delegation }
  await failsWith('INVALID_ARGUMENT', verifyRequest(new Request(SHOP), options))
})
