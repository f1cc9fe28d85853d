import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, newKey, Registry, verifyCertificate } from '@countersign/sdk'
import { jsonOf } from '../../../test/support/answer.ts'
import { claimAgent, startTestService } from '../../../test/support/service.ts'
import { signInBy } from '../../../test/support/sign-in-by.ts'
import { until } from '../../../test/support/until.ts'
import { gateway } from '../src/fetch.ts'
import { fetchGateway } from './support/fetch-gateway.ts'
import { olderNonceStore, SHOP } from './support/signing.ts'

test('an agent is refused as owner-too-new after it moved, by a site that asks the service', async (t) => {
  const service = await startTestService(t, { RECOVERY_DELAY: '0' })
  const visit = async (minimumOwnerAgeSeconds: number) => {
    const policy = { minimumOwnerAgeSeconds }
    const { status, decision } = await fetchGateway({ service: service.url, policy })({
      ServiceID: did,
    })
    return [status, decision.reasons[0].code]
  }
  const { operator } = service
  const ada = await signInBy(service, await operator.addVerifiedOwner('ada'), Date.now)
  const grace = await signInBy(service, await operator.addVerifiedOwner('grace'), Date.now)
  const did = await claimAgent(service, ada.ownerId)
  assert.deepEqual(await visit(259_200), [200, 'owner-verified'])
  const offered = await ada.post('/api/account/transfers', { agents: [did], to: 'grace' })
  const { id } = jsonOf<{ id: string }>(offered)
  const accepted = await grace.post(`/api/account/transfers/${id}/accept`)
  assert.equal(accepted.status, 200, accepted.text)
  await until(async () => (await visit(259_200))[1] === 'owner-too-new')
  assert.deepEqual(await visit(259_200), [403, 'owner-too-new'])
  assert.deepEqual(await visit(0), [200, 'owner-verified'])
})

test('a site that follows the feed refuses the certificate from before a move, and admits the next one', async (t) => {
  const service = await startTestService(t, { RECOVERY_DELAY: '0' })
  const protect = gateway({
    service: service.url,
    audiences: [SHOP],
    nonces: olderNonceStore(),
    timeoutMs: 30_000,
    policy: {
      requireProof: true,
      trust: [{ issuer: service.url, didPrefix: 'svc:agent:' }],
      cacheSeconds: 0,
    },
  })
  t.after(() => protect.close())
  const handler = protect(() => new Response('admitted'))
  const registry = new Registry(service.url)
  const options = { registry, signer: await newKey(), audiences: [SHOP], certificates: true }
  const agent = new Agent(options)
  const { operator } = service
  const ada = await signInBy(service, await operator.addVerifiedOwner('ada'), Date.now)
  const grace = await signInBy(service, await operator.addVerifiedOwner('grace'), Date.now)
  const { did } = await agent.claim(await operator.issueToken(ada.ownerId))
  const statusFor = async (signing: Agent) =>
    (await handler(await signing.sign(`${SHOP}/orders`))).status
  await until(async () => (await statusFor(agent)) === 200)

  const before = (await agent.sign(`${SHOP}/orders`)).headers.get('serviceid-certificate') ?? ''
  const offered = await ada.post('/api/account/transfers', { agents: [did], to: 'grace' })
  const { id } = jsonOf<{ id: string }>(offered)
  const accepted = await grace.post(`/api/account/transfers/${id}/accept`)
  assert.equal(accepted.status, 200, accepted.text)
  const from = performance.now()
  // The agent signs with the certificate from before until it has another one.
  await until(async () => (await statusFor(agent)) === 401)
  t.diagnostic(`refused after ${Math.round(performance.now() - from)} ms`)
  await assert.rejects(
    verifyCertificate(before, { issuers: [service.url], fetch: (...args) => fetch(...args) }),
    { code: 'CERTIFICATE_REVOKED' },
  )
  const restarted = new Agent({ ...options, did })
  await until(async () => (await statusFor(restarted)) === 200)
})
