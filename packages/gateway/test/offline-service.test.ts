import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Agent, newKey, Registry, verifyCertificate, verifyStaple } from '@countersign/sdk'
import { type Cleanup, startTestService } from '../../../test/support/service.ts'
import { setStatus } from '../../../test/support/set-status.ts'
import { until } from '../../../test/support/until.ts'
import type { Decision } from '../src/decision/decision.ts'
import { agentOf, gateway } from '../src/fetch.ts'
import { startGateway } from './support/gateway-process.ts'
import { olderNonceStore, SHOP, send } from './support/signing.ts'

const service = await startTestService({ after })
const registry = new Registry(service.url)
const trust = [{ issuer: service.url, didPrefix: 'svc:agent:' }]

async function certifiedAgent() {
  const signer = await newKey()
  const agent = new Agent({ registry, signer, audiences: [SHOP], certificates: true })
  const owner = await service.operator.addVerifiedOwner()
  const { did } = await agent.claim(await service.operator.issueToken(owner))
  return { agent, did, signer }
}

/** A site whose gateway may ask the service nothing about agents. */
function startShop(t: Cleanup) {
  const decisions: Decision[] = []
  const asked: string[] = []
  const protect = gateway({
    service: new Registry(service.url, {
      fetch: async (input) => {
        asked.push(String(input))
        throw new Error('the service was asked about an agent')
      },
    }),
    audiences: [SHOP],
    nonces: olderNonceStore(),
    timeoutMs: 30_000,
    policy: { requireProof: true, trust },
    onDecision: (decision) => decisions.push(decision),
  })
  t.after(() => protect.close())
  const handler = protect((request: Request) => new Response(String(agentOf(request).did)))
  const visit = async (agent: Agent) => {
    const { status } = await handler(await agent.sign(`${SHOP}/orders`))
    return { status, decision: decisions.at(-1) ?? assert.fail('no decision') }
  }
  return { visit, asked, close: () => protect.close() }
}

test('the tokens of the service verify, and the SDK sends them', async () => {
  const { agent, did } = await certifiedAgent()
  const certificate = await verifyCertificate(await registry.certificate(did), {
    issuers: [service.url],
  })
  assert.deepEqual([certificate.did, certificate.issuer], [did, service.url])
  const staple = await verifyStaple(await registry.staple(did), { issuers: [service.url] })
  assert.deepEqual([staple.did, staple.status], [did, 'active'])
  assert.equal(staple.keyThumbprint, certificate.keyThumbprint)
  const request = await agent.sign(`${SHOP}/orders`)
  const input = request.headers.get('signature-input') ?? ''
  for (const name of ['serviceid-certificate', 'serviceid-status']) {
    assert.ok(request.headers.has(name) && input.includes(`"${name}"`), name)
  }
  // Once, and kept.
  const again = await agent.sign(`${SHOP}/orders`)
  assert.equal(
    again.headers.get('serviceid-certificate'),
    request.headers.get('serviceid-certificate'),
  )
})

test('a site decides without a question to the service: suspension, reactivation, revocation, rotation', async (t) => {
  const shop = startShop(t)
  const { agent, did } = await certifiedAgent()
  const first = await shop.visit(agent)
  assert.equal(first.status, 200, JSON.stringify(first.decision))
  assert.ok(['certificate', 'staple'].includes(first.decision.source ?? ''))
  assert.deepEqual([first.decision.did, first.decision.issuer], [did, service.url])

  const held = await agent.sign(`${SHOP}/held`)
  await setStatus(service, did, 'suspended')
  await until(async () => (await shop.visit(agent)).status === 403)
  assert.equal((await shop.visit(agent)).decision.status, 'suspended')
  await setStatus(service, did, 'active')
  await until(async () => (await shop.visit(agent)).status === 200)

  await agent.rotateKey(await newKey())
  await until(async () => (await shop.visit(agent)).status === 200)
  const old = held.headers.get('serviceid-certificate') ?? ''
  await until(async () =>
    verifyCertificate(old, { issuers: [service.url], fetch: (...args) => fetch(...args) }).then(
      () => false,
      ({ code }) => code === 'CERTIFICATE_REVOKED',
    ),
  )
  await setStatus(service, did, 'revoked')
  await until(async () => (await shop.visit(agent)).status !== 200)
  assert.equal((await shop.visit(agent)).decision.reasons[0].code, 'certificate-replaced')
  assert.deepEqual(shop.asked, [])
})

test('countersign-gateway follows the feed, and ends with it', async (t) => {
  const gate = await startGateway(t, {
    service: service.url,
    audiences: [SHOP],
    policy: { requireProof: true, trust },
  })
  const { agent, did } = await certifiedAgent()
  const ask = async () => {
    const request = await agent.sign(`${SHOP}/orders`)
    const forwarded = { 'X-Forwarded-Method': 'GET', 'X-Forwarded-Uri': '/orders' }
    const origin = { 'X-Forwarded-Host': 'shop.example', 'X-Forwarded-Proto': 'https' }
    return send(gate.url, request, {
      target: '/auth/forward',
      headers: { ...forwarded, ...origin },
    })
  }
  const admitted = await ask()
  assert.equal(admitted.status, 200, admitted.text)
  assert.equal(admitted.headers['x-serviceid-issuer'], service.url)
  const { issuer, source, statusAgeSeconds } = await gate.logged(
    ({ event, did: logged }) => event === 'decision' && logged === did,
  )
  assert.equal(issuer, service.url)
  assert.match(String(source), /^(certificate|staple)$/)
  assert.equal(typeof statusAgeSeconds, 'number')
  await setStatus(service, did, 'suspended')
  await until(async () => (await ask()).status === 403)
  assert.equal(await gate.stop(), 0)
})

test('while the service is off, known certificates still decide', async (t) => {
  const shop = startShop(t)
  const { agent } = await certifiedAgent()
  assert.equal((await shop.visit(agent)).status, 200)
  await service.stop()
  const { status, decision } = await shop.visit(agent)
  assert.equal(status, 200)
  assert.match(decision.source ?? '', /^(certificate|staple)$/)
})
