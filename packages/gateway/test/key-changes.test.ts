import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Agent, newKey, Registry } from '@countersign/sdk'
import { fileCleanup } from '../../../test/support/file-cleanup.ts'
import { PATIENT_CLIENT } from '../../../test/support/patient-client.ts'
import { startTestService, type TestService } from '../../../test/support/service.ts'
import { Clock } from './support/clock.ts'
import { fetchGateway } from './support/fetch-gateway.ts'
import { olderNonceStore, SHOP, signingAgent } from './support/signing.ts'

const DAY = 86_400_000
const cleanup = fileCleanup()
let service: TestService

before(async () => {
  service = await startTestService(cleanup)
})
/** An agent that rotated its key, and another process of it that still has the old one. */
async function rotatingAgent() {
  const registry = new Registry(service.url, PATIENT_CLIENT)
  const old = await newKey()
  const agent = new Agent({ registry, signer: old, audiences: [SHOP] })
  const owner = await service.operator.addVerifiedOwner()
  const { did } = await agent.claim(await service.operator.issueToken(owner))
  const behind = new Agent({ registry, signer: old, did, audiences: [SHOP] })
  return { agent, behind, did }
}

const headersOf = async (agent: Agent) => Object.fromEntries((await agent.sign(`${SHOP}/`)).headers)

test('a new key proves the agent at once, and then the old one does not', async () => {
  const { agent, behind } = await rotatingAgent()
  const policy = { requireProof: true, cacheSeconds: 60 }
  const audiences = [SHOP]
  const visit = fetchGateway({ service: service.url, audiences, nonces: olderNonceStore(), policy })
  assert.equal((await visit(await headersOf(agent))).status, 200)
  await agent.rotateKey(await newKey())
  // The answer that is cached has the old key: an unknown one causes one question to the service.
  assert.equal((await visit(await headersOf(agent))).status, 200)
  const { status, decision } = await visit(await headersOf(behind))
  assert.deepEqual([status, decision.signature?.reason], [401, 'unknown-key'])
})

test('the old key ends within cacheSeconds, if no request has the new one', async () => {
  const { agent, behind } = await rotatingAgent()
  const clock = new Clock()
  const policy = { requireProof: true, cacheSeconds: 5 }
  const options = { audiences: [SHOP], nonces: olderNonceStore(), policy, now: clock.now }
  const visit = fetchGateway({ service: service.url, ...options })
  assert.equal((await visit(await headersOf(behind))).status, 200)
  await agent.rotateKey(await newKey())
  clock.pass(5000)
  assert.equal((await visit(await headersOf(behind))).status, 401)
})

test('a key that is younger than minimumKeyAgeSeconds is refused', async () => {
  const { agent, did } = await signingAgent(service)
  const visitWith = (minimumKeyAgeSeconds: number) =>
    fetchGateway({ service: service.url, policy: { minimumKeyAgeSeconds } })({ ServiceID: did })
  assert.equal((await visitWith(0)).status, 200)
  await agent.rotateKey(await newKey())
  const { status, decision } = await visitWith(259_200)
  assert.deepEqual([status, decision.reasons[0].code], [403, 'key-too-young'])
})

test('an agent that was transferred less than minimumOwnerAgeSeconds ago is refused', async () => {
  const { did } = await signingAgent(service)
  const policy = { minimumOwnerAgeSeconds: 259_200 }
  const visit = async (transferredDaysAgo: number | null) => {
    const at = transferredDaysAgo && new Date(Date.now() - transferredDaysAgo * DAY).toISOString()
    const registry = new Registry(service.url, {
      ...PATIENT_CLIENT,
      fetch: async (input, init) => {
        const answer = await fetch(input, init)
        const isAgent = decodeURIComponent(String(input)).endsWith(`/api/agents/${did}`)
        if (at === null || !isAgent) return answer
        return Response.json({ ...((await answer.json()) as object), ownerChangedAt: at })
      },
    })
    const { status, decision } = await fetchGateway({ service: registry, policy })({
      ServiceID: did,
    })
    return [status, decision.reasons[0].code]
  }
  assert.deepEqual(await visit(null), [200, 'owner-verified'])
  assert.deepEqual(await visit(2), [403, 'owner-too-new'])
  assert.deepEqual(await visit(4), [200, 'owner-verified'])
})

test('an answer with a former key is not believed: the agent is unknown until the service is right again', async () => {
  const { agent, behind, did } = await rotatingAgent()
  const registry = new Registry(service.url, PATIENT_CLIENT)
  const before = await registry.agent(did, { fresh: true })
  let replayed = false
  const replaying = new Proxy(registry, {
    get(target, name) {
      if (name === 'agent' && replayed) return async () => before
      const value = target[name as keyof Registry] as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const clock = new Clock()
  const policy = { requireProof: true, cacheSeconds: 1 }
  const options = { audiences: [SHOP], nonces: olderNonceStore(), policy, now: clock.now }
  const visit = fetchGateway({ service: replaying, issuer: service.url, ...options })
  await agent.rotateKey(await newKey())
  assert.equal((await visit(await headersOf(agent))).status, 200)
  replayed = true
  clock.pass(1000)
  assert.notEqual((await visit(await headersOf(behind))).status, 200)
  replayed = false
  clock.pass(10_000)
  assert.equal((await visit(await headersOf(agent))).status, 200)
})
