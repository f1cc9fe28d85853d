import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import { post } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { rotateTo } from '../../../../test/support/key-operations.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import { verifyBody } from '../../../../test/support/refused-posts.ts'
import { claimAgent, startTestService, testEnv } from '../../../../test/support/service.ts'
import { signInBy } from '../../../../test/support/sign-in-by.ts'
import { until } from '../../../../test/support/until.ts'
import {
  assertEnded,
  assertProves,
  keysOf,
  REPLACED,
  REPORTED,
  recoverWith,
  startRecovery,
} from '../agents/keys/with-keys.ts'
import { eventTypesOf } from '../agents/manage/keys.ts'

/** Two nodes on one database, with one address for their callers. */
async function startNodes(t: TestContext, overrides: Record<string, string> = {}) {
  const env = await testEnv(t, overrides)
  const shared = { ...overrides, DATA_DIR: env.DATA_DIR as string }
  const BASE_URL = `http://localhost:${env.PORT}`
  const here = await startTestService(t, { ...env, BASE_URL })
  const there = await startTestService(t, { ...shared, BASE_URL })
  const ownerId = await here.operator.addVerifiedOwner()
  const key = newKey()
  const did = await claimAgent(here, ownerId, key)
  return { here, there, ownerId, key, did }
}

test(
  'after a rotation at one node, the other has the new key; the old one verifies at neither',
  POSTGRES_ONLY,
  async (t) => {
    const { here, there, key, did } = await startNodes(t)
    let old = key
    for (let sequence = 2; sequence < 12; sequence++) {
      const next = newKey()
      const rotated = await rotateTo(here, did, { old, next, sequence })
      assert.equal(rotated.status, 200, rotated.text)
      assertRefused(
        await post(here, '/api/v1/agent/verify', verifyBody(old)),
        404,
        'NOT_FOUND',
        REPLACED,
      )
      const refused = async () =>
        (await post(there, '/api/v1/agent/verify', verifyBody(old))).status === 404
      await until(refused)
      await assertEnded(there, old, REPLACED)
      await assertProves(there, next, did)
      old = next
    }
  },
)

test('a recovery takes effect once, whichever node does it', POSTGRES_ONLY, async (t) => {
  const { here, there, ownerId, key, did } = await startNodes(t, { RECOVERY_DELAY: '1s' })
  const owner = await signInBy(here, ownerId, Date.now)
  const token = await startRecovery(owner, did, 'key_compromised')
  await until(
    async () => (await post(there, '/api/v1/agent/verify', verifyBody(key))).status === 404,
  )
  await assertEnded(there, key, REPORTED)
  const next = newKey()
  const asked = { token, next, sequence: 2 }
  const answer = await recoverWith(there, did, asked, { service: here.url })
  assert.equal(answer.status, 200, answer.text)
  for (const node of [here, there]) {
    await until(async () => {
      here.tick()
      there.tick()
      return (await keysOf(node, did)).keySequence === 2
    })
    const proves = async () =>
      (await post(node, '/api/v1/agent/verify', verifyBody(next))).status === 200
    await until(proves)
    await assertProves(node, next, did)
  }
  const types = await eventTypesOf(here, did)
  assert.equal(types.filter((type) => type === 'agent.key_recovered').length, 1)
})
