import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  approvalToken,
  BODY,
  JSON_TYPE,
  PURCHASE,
  serviceSigner,
} from '../../../../test/support/approval-token.ts'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { startSite } from '../../../../test/support/impostor.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { Agent } from '../../src/agent.ts'
import type { NonceStore, SignatureReason } from '../../src/index.ts'
import { newKey } from '../../src/keys/keys.ts'
import { Registry } from '../../src/registry.ts'
import { keyDirectories } from '../../src/relying-party/key-directories.ts'
import { memoryNonceStore } from '../../src/relying-party/memory-nonce-store.ts'
import { verifyRequest } from '../../src/relying-party/verify-request.ts'
import { certifiedAgent, registryOf } from '../support/certified.ts'
import { failsWith } from '../support/fails.ts'
import { olderNonceStore } from '../support/signed-site.ts'

const SHOP = 'https://shop.example'
const cleanup = fileCleanup()
let service: TestService

before(async () => {
  service = await startTestService(cleanup)
})

async function signingAgent() {
  const registry = registryOf(service)
  const { key, did } = await certifiedAgent(service, registry)
  return { registry, key, did, agent: new Agent({ registry, signer: key, did, audiences: [SHOP] }) }
}

test('a Request is verified as it is, and its body can still be read', async () => {
  const { registry, did, agent } = await signingAgent()
  const options = { registry, audiences: [SHOP], nonces: olderNonceStore() }
  const request = await agent.sign(`${SHOP}/orders?`, { method: 'POST', body: '{}' })
  const result = await verifyRequest(request, options)
  assert.deepEqual(
    [result.verdict, result.did, result.digest, result.replay],
    ['verified', did, 'checked', 'checked'],
  )
  assert.equal(await request.text(), '{}')
  const again = await verifyRequest(
    new Request(request.url, { method: 'POST', headers: request.headers, body: '{}' }),
    options,
  )
  assert.equal(again.reason, 'replay')
  assert.equal((await verifyRequest(new Request(SHOP), options)).reason, 'unsigned')
})

test('the verdict says which type did and reason have', async () => {
  const { registry, did, agent } = await signingAgent()
  const options = { registry, audiences: [SHOP], nonces: olderNonceStore() }
  const result = await verifyRequest(await agent.sign(SHOP), options)
  assert.ok(result.verdict === 'verified')
  const proven: { did: string; reason: null; status: 200 } = result
  assert.equal(proven.did, did)
  const refused = await verifyRequest(new Request(SHOP), options)
  assert.ok(refused.verdict !== 'verified')
  const reason: SignatureReason = refused.reason
  assert.equal(reason, 'unsigned')
  const anyone = await verifyRequest(await agent.sign(SHOP), {
    ...options,
    directories: keyDirectories([]),
  })
  assert.ok(anyone.verdict === 'verified')
  // @ts-expect-error with directories, a signer may have no DID
  const maybe: string = anyone.did
  assert.equal(maybe, did)
})

test('only for the audiences of the site, and only from the service that it trusts', async () => {
  const { registry, agent } = await signingAgent()
  const nonces = olderNonceStore()
  const options = { registry, audiences: [SHOP], nonces }
  const signed = () => agent.sign(SHOP)
  const reasonWith = async (changes: object) =>
    (await verifyRequest(await signed(), { ...options, ...changes })).reason
  assert.equal(await reasonWith({}), null)
  assert.equal(
    await reasonWith({ audiences: ['https://other.example', `${SHOP}:8443`] }),
    'authority',
  )
  assert.equal(await reasonWith({ audiences: [] }), 'no-audience')
  assert.equal(await reasonWith({ issuer: 'https://id.example' }), 'untrusted-agent')
  assert.equal(await reasonWith({ admit: () => false }), 'not-admitted')
  await failsWith('INVALID_ARGUMENT', reasonWith({ audiences: ['shop.example'] }))
})

test('an agent whose service has another public address names that address', async () => {
  const { registry, key, did } = await signingAgent()
  const issuer = 'https://id.example'
  const agent = new Agent({ registry, signer: key, did, audiences: [SHOP], issuer })
  const request = await agent.sign(SHOP)
  const address = `sig1="${issuer}/agent/${did.slice(-24)}/jwks.json"`
  assert.equal(request.headers.get('signature-agent'), address)
  const options = { registry, audiences: [SHOP], nonces: null }
  assert.equal((await verifyRequest(request, options)).reason, 'untrusted-agent')
  assert.equal((await verifyRequest(request, { ...options, issuer })).verdict, 'verified')
})

test('suspended and revoked agents hold their key, and are not verified', async () => {
  const { registry, did, agent } = await signingAgent()
  const options = { registry, audiences: [SHOP], nonces: olderNonceStore() }
  for (const status of ['suspended', 'revoked'] as const) {
    await setStatus(service, did, status)
    const result = await verifyRequest(await agent.sign(SHOP), options)
    assert.deepEqual([result.verdict, result.reason, result.did], ['invalid', status, did])
  }
})

test('an agent that is not known, or has another key, proves nothing', async () => {
  const { registry, did, agent } = await signingAgent()
  const options = { registry, audiences: [SHOP], nonces: olderNonceStore() }
  agent.useKey(await newKey())
  const other = await verifyRequest(await agent.sign(SHOP), options)
  assert.deepEqual([other.verdict, other.reason, other.did], ['unverified', 'unknown-key', null])
  const unknown = `${did.slice(0, -1)}${did.endsWith('1') ? '2' : '1'}`
  const nobody = new Agent({ registry, signer: await newKey(), did: unknown, audiences: [SHOP] })
  assert.equal((await verifyRequest(await nobody.sign(SHOP), options)).reason, 'unknown-key')
})

test('unknown keys of one agent cause one request to the service in 5 seconds; its own key is always looked up', async () => {
  const { key, did, registry } = await signingAgent()
  let asked = 0
  const counting = new Registry(service.url, {
    fetch: (input, init) => {
      asked += 1
      return fetch(input, init)
    },
  })
  const clock = { now: Date.now() }
  const now = () => clock.now
  const options = { registry: counting, audiences: [SHOP], nonces: null, now }
  const reasonBy = async (signer: Awaited<ReturnType<typeof newKey>>) => {
    const agent = new Agent({ registry, signer, did, audiences: [SHOP], now })
    return (await verifyRequest(await agent.sign(SHOP), options)).reason
  }
  const stranger = await newKey()
  for (let i = 0; i < 5; i++) assert.equal(await reasonBy(stranger), 'unknown-key')
  assert.equal(asked, 1)
  assert.equal(await reasonBy(key), null)
  assert.equal(asked, 2)
  clock.now += 5_001
  assert.equal(await reasonBy(stranger), 'unknown-key')
  assert.equal(asked, 3)
})

test('a service that cannot be reached leaves it undecided', async (t) => {
  const { agent } = await signingAgent()
  const down = await startSite(t, (_, response) => response.writeHead(503).end())
  const registry = new Registry(down, { retries: 0 })
  const issuer = service.url
  const options = { registry, issuer, audiences: [SHOP], nonces: olderNonceStore() }
  const result = await verifyRequest(await agent.sign(SHOP), options)
  assert.deepEqual([result.verdict, result.reason], ['unverified', 'directory-unavailable'])
})

test('with approval, a request is verified once, if its owner has approved exactly this', async () => {
  const { registry, did, agent } = await signingAgent()
  const issuer = await serviceSigner(service)
  const options = { registry, audiences: [SHOP], nonces: olderNonceStore(), approval: {} }
  const signed = (token: string, init: RequestInit = PURCHASE) => {
    const headers = { 'content-type': JSON_TYPE, 'ServiceID-Approval': token }
    return agent.sign(`${SHOP}/orders`, { ...init, headers })
  }
  const token = await approvalToken(issuer, did)
  const reasonOf = async (request: Request, changes: object = {}) =>
    (await verifyRequest(request, { ...options, ...changes })).reason
  assert.equal(await reasonOf(await agent.sign(`${SHOP}/orders`, PURCHASE)), 'approval-required')
  assert.equal(await reasonOf(await signed('none')), 'approval-invalid')
  const cheap = { ...PURCHASE, body: BODY.replace('129', '999') }
  assert.equal(await reasonOf(await signed(token, cheap)), 'approval-mismatch')
  const old = await approvalToken(issuer, did, { issuedIn: -90 })
  const minute = { approval: { maxAgeSeconds: 60 } }
  assert.equal(await reasonOf(await signed(old), minute), 'approval-expired')
  assert.equal(await reasonOf(await signed(token), { admit: () => false }), 'not-admitted')

  // The body is not visible: the application has to say that it compares it.
  const { method, headers } = await signed(token)
  const target = '/orders'
  const raw = { method, target, authority: 'shop.example', scheme: 'https' as const }
  const unseen = { ...raw, headers: [...headers] }
  const blind = await verifyRequest(unseen, options)
  assert.equal(blind.reason, 'approval-mismatch')

  const result = await verifyRequest(await signed(token), options)
  assert.deepEqual([result.verdict, result.approval?.by], ['verified', 'passkey'])
  const again = await verifyRequest(await signed(token), options)
  assert.deepEqual([again.reason, again.status, again.approval], ['approval-used', 403, null])
  const memory = memoryNonceStore(undefined, Date.now)
  const record: NonceStore['record'] = (each) => (each.nonce ? 'fresh' : memory.record(each))
  const blindStore = await verifyRequest(await signed(token), { ...options, nonces: { record } })
  assert.deepEqual([blindStore.reason, blindStore.status], ['approval-unchecked', 503])

  const itself = await verifyRequest(await signed(token), { ...options, nonces: null })
  assert.equal(itself.approval?.useKey, result.approval?.useKey)
  for (const approval of [{ by: [] }, { maxAgeSeconds: 0 }, { by: ['operator' as never] }]) {
    await failsWith('INVALID_ARGUMENT', () => verifyRequest(unseen, { ...options, approval }))
  }
})
