import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { Registry } from '../../src/registry.ts'
import { memoryChallengeStore } from '../../src/relying-party/challenge-store.ts'
import { createChallenges } from '../../src/relying-party/challenges.ts'
import { certifiedAgent, registryOf } from '../support/certified.ts'
import { failsWith } from '../support/fails.ts'

const SHOP = 'https://shop.example'
const BANK = 'https://bank.example'

async function shopWithAgent(t: TestContext) {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const certified = await certifiedAgent(service, registry)
  return { service, registry, ...certified }
}

test('an agent answers a challenge, and its key is proven', async (t) => {
  const { registry, agent, did } = await shopWithAgent(t)
  const challenges = createChallenges({ registry, audience: `${SHOP}/somewhere` })
  const challenge = await challenges.issue()
  assert.match(challenge, /^svc-challenge-v1:https:\/\/shop\.example:[A-Za-z0-9_-]{32}$/)
  const { verified, agent: proven } = await challenges.check(
    await agent.answer(challenge, { audience: SHOP }),
  )
  assert.deepEqual([verified, proven.did], [true, did])
})

test('of twenty who send the same answer at once, one gets in; nobody after that', async (t) => {
  const { registry, agent } = await shopWithAgent(t)
  const challenges = createChallenges({ registry, audience: SHOP })
  const answer = await agent.answer(await challenges.issue(), { audience: SHOP })
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, () => challenges.check(answer)),
  )
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
  await failsWith('CHALLENGE_SPENT', challenges.check(answer))
})

test('a challenge that was answered wrongly is spent as well', async (t) => {
  const { registry, agent } = await shopWithAgent(t)
  const challenges = createChallenges({ registry, audience: SHOP })
  const answer = await agent.answer(await challenges.issue(), { audience: SHOP })
  const other = await agent.answer(await challenges.issue(), { audience: SHOP })
  const forged = { ...answer, signature: other.signature }
  await failsWith('INVALID_SIGNATURE', challenges.check(forged))
  await failsWith('CHALLENGE_SPENT', challenges.check(answer))
})

test('a challenge that was never asked, or by another, is none; the service is not asked', async (t) => {
  const { registry, agent } = await shopWithAgent(t)
  const nobody = new Registry('http://127.0.0.1:1', { retries: 0 })
  const shop = createChallenges({ registry: nobody, audience: SHOP })
  const bank = createChallenges({ registry, audience: BANK })
  const invented = `svc-challenge-v1:${SHOP}:${'n'.repeat(32)}`
  await failsWith('CHALLENGE_SPENT', shop.check(await agent.answer(invented, { audience: SHOP })))
  const banks = await bank.issue()
  await failsWith('CHALLENGE_SPENT', shop.check(await agent.answer(banks, { audience: BANK })))
  await failsWith('CHALLENGE_SPENT', shop.check(await agent.answerUnbound('hello')))
  const fromStore = banks.replace(BANK, SHOP)
  await failsWith('CHALLENGE_SPENT', shop.check(await agent.answer(fromStore, { audience: SHOP })))
})

test('a site that passes on the challenge of another gets no answer', async (t) => {
  const { registry, agent } = await shopWithAgent(t)
  const bank = createChallenges({ registry, audience: BANK })
  const passedOn = await bank.issue()
  await failsWith('WRONG_AUDIENCE', agent.answer(passedOn, { audience: SHOP }))
})

test('a challenge is good for 60 seconds', async (t) => {
  const { registry, agent } = await shopWithAgent(t)
  let now = 0
  const store = memoryChallengeStore(10, () => now)
  const challenges = createChallenges({ registry, audience: SHOP, store })
  const [late, inTime] = [await challenges.issue(), await challenges.issue()]
  now = 59_999
  assert.ok(await challenges.check(await agent.answer(inTime, { audience: SHOP })))
  now = 60_000
  await failsWith('CHALLENGE_SPENT', challenges.check(await agent.answer(late, { audience: SHOP })))
})

test('two processes with one store: what one has asked, the other checks, once between them', async (t) => {
  const { registry, agent } = await shopWithAgent(t)
  const store = memoryChallengeStore()
  const [one, two] = [
    createChallenges({ registry, audience: SHOP, store }),
    createChallenges({ registry, audience: SHOP, store }),
  ]
  const answer = await agent.answer(await one.issue(), { audience: SHOP })
  assert.equal((await two.check(answer)).verified, true)
  await failsWith('CHALLENGE_SPENT', one.check(answer))
})

test('asking for challenges without end fills no memory: the oldest go', async () => {
  let now = 0
  const store = memoryChallengeStore(3, () => now)
  for (const key of ['a', 'b', 'c', 'd']) await store.put(key, 1000)
  assert.deepEqual([await store.take('a'), await store.take('b')], [false, true])
  assert.equal(await store.take('b'), false)
  now = 1000
  await store.put('e', 1000)
  assert.deepEqual([await store.take('c'), await store.take('e')], [false, true])
})

test('a suspended agent proves its key, and is not verified', async (t) => {
  const { service, registry, agent, did } = await shopWithAgent(t)
  const challenges = createChallenges({ registry, audience: SHOP })
  await setStatus(service, did, 'suspended')
  const answer = await agent.answer(await challenges.issue(), { audience: SHOP })
  const { verified, signatureValid } = await challenges.check(answer)
  assert.deepEqual([verified, signatureValid], [false, true])
})

test('an audience is a web address', async () => {
  const registry = new Registry('https://id.example')
  for (const audience of ['', 'shop.example', 'mailto:a@b', 'javascript:1']) {
    await failsWith('INVALID_ARGUMENT', () => createChallenges({ registry, audience }))
  }
})
