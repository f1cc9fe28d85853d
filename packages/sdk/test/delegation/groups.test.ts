import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { allowDelegation } from '../../../../test/support/allow-delegation.ts'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { Agent } from '../../src/agent.ts'
import { DelegatedAgent } from '../../src/delegation/delegated-agent.ts'
import { newKey } from '../../src/keys/keys.ts'
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

async function orchestrator(maxDepth: number) {
  const registry = registryOf(service)
  const { key, did, ownerId } = await certifiedAgent(service, registry)
  if (maxDepth > 0) await allowDelegation(service, ownerId, did, maxDepth)
  return { did, agent: new Agent({ registry, signer: key, did }) }
}

async function workerOf(agent: Agent, certificate?: string): Promise<DelegatedAgent> {
  const signer = await newKey()
  const publicKey = Buffer.from(signer.publicKey).toString('base64')
  const { chain } = await agent.delegate({ publicKey, origins: [SHOP], certificate })
  return new DelegatedAgent({ chain, signer })
}

/** What a site says that knows nothing of the agent yet. */
async function reasonOf(worker: DelegatedAgent): Promise<string | null> {
  const { reason } = await verifyRequest(await worker.sign(`${SHOP}/orders`), {
    registry: registryOf(service),
    audiences: [SHOP],
    nonces: olderNonceStore(),
    delegation: { maxDepth: 1, maxSeconds: 86_400, mcp: false },
  })
  return reason
}

test('one group of workers ends, and the others and the agent go on', async () => {
  const { agent } = await orchestrator(1)
  const first = await agent.delegationGroups.create('first')
  const second = await agent.delegationGroups.create('second')
  const [one, two, direct] = [
    await workerOf(agent, first.certificate),
    await workerOf(agent, second.certificate),
    await workerOf(agent),
  ]
  for (const each of [one, two, direct]) assert.equal(await reasonOf(each), null)
  const ended = await agent.delegationGroups.end(first.id)
  assert.equal(ended.id, first.id)
  await until(async () => (await reasonOf(one)) === 'delegation-ended')
  assert.equal(await reasonOf(two), null)
  assert.equal(await reasonOf(direct), null)
  assert.deepEqual(await agent.delegationGroups.end(first.id), ended, 'a retry is safe')
  await agent.endDelegations()
  for (const each of [one, two, direct]) {
    await until(async () => (await reasonOf(each)) === 'delegation-ended')
  }
})

test('what is not allowed fails with the code of the service', async () => {
  const { agent } = await orchestrator(0)
  await failsWith('FORBIDDEN', () => agent.delegationGroups.create('x'))
  const { agent: other } = await orchestrator(1)
  await failsWith('VALIDATION_ERROR', () => other.delegationGroups.create(''))
  await failsWith('NOT_FOUND', () => other.delegationGroups.end('0'.repeat(32)))
  const { certificate } = await other.delegationGroups.create('x')
  await failsWith('INVALID_ARGUMENT', () => workerOf(agent, certificate))
  await failsWith('INVALID_ARGUMENT', () => workerOf(other, 'nonsense'))
})
