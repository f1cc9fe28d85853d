import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import { assertUnclaimable, claimKey, statusOf, verifyKey } from './keys.ts'
import { AGENTS, newOwner } from './with-agent.ts'

/** Runs a command of the operator on an agent. @returns what it printed */
async function operate(service: TestService, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await countersignd(service.env, 'agent', ...args)
  assert.equal(code, 0, stderr)
  return stdout
}

async function untilStatus(service: TestService, did: string, status: string): Promise<void> {
  await until(async () => (await statusOf(service, did))[0] === status)
}

suite("the operator's suspension applies to the key", { concurrency: true }, () => {
  test('under every label, for agents and for claims, until it is lifted', async (t) => {
    const service = await startTestService(t)
    const owner = await newOwner(service)
    const key = newKey()
    const first = await claimAgent(service, owner.ownerId, key, 'first')
    const second = await claimAgent(service, owner.ownerId, key, 'second')

    await operate(service, 'suspend', first, '--reason', 'abuse')

    await untilStatus(service, first, 'suspended')
    assert.deepEqual(await statusOf(service, second), ['suspended', 'abuse'])
    assert.equal((await verifyKey(service, key)).verified, false)
    await assertUnclaimable(service, owner.ownerId, key, /operator suspended this key/)
    for (const did of [first, second]) {
      const answer = await unchanged(service, () => owner.post(`${AGENTS}/${did}/reactivate`))
      assertRefused(answer, 403, 'FORBIDDEN', /operator/)
    }

    assert.match(await operate(service, 'revoke', first), /is revoked\.\nIts key is suspended/)
    await assertUnclaimable(service, owner.ownerId, key, /operator suspended this key/)

    await operate(service, 'reactivate', second)
    await untilStatus(service, second, 'active')
    assert.deepEqual(await statusOf(service, first), ['revoked', null])
    assert.equal((await claimKey(service, owner.ownerId, key, 'third')).status, 200)
  })

  test('even after the owner revoked the agent, and the operator can lift it then', async (t) => {
    const service = await startTestService(t)
    const owner = await newOwner(service)
    const accomplice = await newOwner(service)
    const key = newKey()
    const did = await claimAgent(service, owner.ownerId, key)
    await operate(service, 'suspend', did)
    assert.equal((await owner.post(`${AGENTS}/${did}/revoke`)).status, 200)
    await assertUnclaimable(service, owner.ownerId, key, /suspended this key/)
    await assertUnclaimable(service, accomplice.ownerId, key, /suspended this key/)

    assert.match(
      await operate(service, 'reactivate', did),
      /is revoked\.\nIts key is no longer suspended/,
    )

    assert.deepEqual(await statusOf(service, did), ['revoked', null])
    assert.equal((await claimKey(service, owner.ownerId, key, 'main')).status, 200)
    const again = await countersignd(service.env, 'agent', 'reactivate', did)
    assert.deepEqual([again.code, /revoked cannot become/.test(again.stderr)], [2, true])
  })

  test('also if the owner suspended the agent before, and then stays suspended by its owner', async (t) => {
    const service = await startTestService(t)
    const owner = await newOwner(service)
    const key = newKey()
    const did = await claimAgent(service, owner.ownerId, key)
    await owner.post(`${AGENTS}/${did}/suspend`, { reason: 'maintenance' })
    await operate(service, 'suspend', did, '--reason', 'abuse')
    const answer = await unchanged(service, () => owner.post(`${AGENTS}/${did}/reactivate`))
    assertRefused(answer, 403, 'FORBIDDEN', /operator/)
    const twice = await countersignd(service.env, 'agent', 'suspend', did)
    assert.deepEqual([twice.code, /suspended cannot become/.test(twice.stderr)], [2, true])
    await operate(service, 'reactivate', did)
    assert.deepEqual(await statusOf(service, did), ['suspended', 'maintenance'])
    assert.equal((await owner.post(`${AGENTS}/${did}/reactivate`)).status, 200)
  })

  test('for other owners too (KEY_REUSE=any)', async (t) => {
    const service = await startTestService(t, { KEY_REUSE: 'any' })
    const [one, other] = [await newOwner(service), await newOwner(service)]
    const key = newKey()
    const did = await claimAgent(service, one.ownerId, key, 'one')
    const theirs = await claimAgent(service, other.ownerId, key, 'other')
    await operate(service, 'suspend', did, '--reason', 'abuse')
    await untilStatus(service, theirs, 'suspended')
    assert.equal((await verifyKey(service, key, theirs)).verified, false)
    await operate(service, 'reactivate', did)
    await untilStatus(service, theirs, 'active')
  })

  test('whichever of a claim and the suspension comes first', async (t) => {
    const service = await startTestService(t)
    const owner = await newOwner(service)
    for (let round = 0; round < 8; round++) {
      const key = newKey()
      const did = await claimAgent(service, owner.ownerId, key, 'first')
      const claim = claimKey(service, owner.ownerId, key, 'second')
      await operate(service, 'suspend', did)
      const answer = await claim
      if (answer.status !== 200) assertRefused(answer, 409, 'KEY_ALREADY_CLAIMED')
      else await untilStatus(service, jsonOf(answer).svcDid as string, 'suspended')
      await untilStatus(service, did, 'suspended')
      assert.equal((await verifyKey(service, key)).verified, false)
    }
  })
})
