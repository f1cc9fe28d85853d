import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { KEY_COMPROMISED } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { claimAgent, countersignd, startTestService } from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import { newRuntimeAgent, startWithRuntimeAgent } from '../../channels/support/runtime-agent.ts'
import {
  assertBurned,
  assertUnclaimable,
  claimKey,
  eventTypesOf,
  statusOf,
  verifyKey,
} from './keys.ts'
import { AGENTS, newOwner } from './with-agent.ts'

const REPORTED = /reported as compromised/
const BURN = { reason: KEY_COMPROMISED }

suite('a key that is reported as compromised', { concurrency: true }, () => {
  test('verifies through none of its DIDs, and nobody can claim it again', async (t) => {
    const service = await startTestService(t)
    const owner = await newOwner(service)
    const thief = await newOwner(service)
    const key = newKey()
    const first = await claimAgent(service, owner.ownerId, key, 'first')
    const second = await claimAgent(service, owner.ownerId, key, 'second')
    const suspended = await claimAgent(service, owner.ownerId, key, 'third')
    const unrelated = await claimAgent(service, owner.ownerId)
    await owner.post(`${AGENTS}/${suspended}/suspend`)
    assert.equal((await verifyKey(service, key)).verified, true)

    const answer = await owner.post(`${AGENTS}/${first}/revoke`, BURN)

    assert.equal(answer.status, 200, answer.text)
    for (const did of [undefined, first, second, suspended]) {
      await assertBurned(service, key, did)
    }
    for (const did of [first, second, suspended]) {
      assert.deepEqual(await statusOf(service, did), ['revoked', KEY_COMPROMISED])
      const types = await eventTypesOf(service, did)
      assert.equal(types.filter((type) => type === 'agent.key_compromised').length, 1)
      assert.equal(types.filter((type) => type === 'agent.revoked').length, 1)
    }
    assert.deepEqual(await statusOf(service, unrelated), ['active', null])
    await assertUnclaimable(service, owner.ownerId, key, REPORTED)
    await assertUnclaimable(service, thief.ownerId, key, REPORTED)
  })

  test('stays burned after a restart, and for an agent that is not in memory', async (t) => {
    const before = await startTestService(t, { READ_MODEL_AGENTS: '1' })
    const owner = await newOwner(before)
    const key = newKey()
    const did = await claimAgent(before, owner.ownerId, key, 'first')
    await claimAgent(before, owner.ownerId, key, 'second')
    await owner.post(`${AGENTS}/${did}/revoke`, BURN)
    await assertBurned(before, key)
    await before.stop()
    const after = await startTestService(t, before.env)
    await assertBurned(after, key)
    await assertUnclaimable(after, owner.ownerId, key, REPORTED)
  })

  test('suspends the agents of other owners (KEY_REUSE=any), who cannot reactivate them', async (t) => {
    const service = await startTestService(t, { KEY_REUSE: 'any' })
    const reporter = await newOwner(service)
    const other = await newOwner(service)
    const key = newKey()
    const reported = await claimAgent(service, reporter.ownerId, key, 'reported')
    const active = await claimAgent(service, other.ownerId, key, 'active')
    const suspended = await claimAgent(service, other.ownerId, key, 'suspended')
    await other.post(`${AGENTS}/${suspended}/suspend`, { reason: 'maintenance' })

    await reporter.post(`${AGENTS}/${reported}/revoke`, BURN)

    assert.deepEqual(await statusOf(service, reported), ['revoked', KEY_COMPROMISED])
    assert.deepEqual(await statusOf(service, active), ['suspended', KEY_COMPROMISED])
    assert.deepEqual(await statusOf(service, suspended), ['suspended', 'maintenance'])
    const shown = jsonOf(await other.get(`${AGENTS}/${active}`))
    assert.equal(shown.statusSetBy, 'service')
    for (const did of [active, suspended]) {
      const reactivate = () => other.post(`${AGENTS}/${did}/reactivate`)
      assertRefused(await unchanged(service, reactivate), 403, 'FORBIDDEN', REPORTED)
      const operator = await countersignd(service.env, 'agent', 'reactivate', did)
      assert.deepEqual([operator.code, REPORTED.test(operator.stderr)], [4, true])
      await assertBurned(service, key, did)
    }
    assert.equal((await other.post(`${AGENTS}/${active}/revoke`, BURN)).status, 200)
    const types = await eventTypesOf(service, active)
    assert.equal(types.filter((type) => type === 'agent.key_compromised').length, 1)
  })

  test('proves no runtime any more', async (t) => {
    const victim = await startWithRuntimeAgent(t, { KEY_REUSE: 'any' })
    const { service, clock, key, did } = victim
    await victim.add()
    assert.equal((await victim.answer()).status, 200)
    const challenge = await victim.challenge()
    const reporter = await newRuntimeAgent(service, clock)
    const shared = await claimKey(service, reporter.ownerId, key, 'shared')
    const sharedDid = jsonOf(shared).svcDid as string

    await (await reporter.owner()).post(`${AGENTS}/${sharedDid}/revoke`, BURN)

    assert.equal((await victim.channel()).state, 'stale')
    const stale = (await victim.events()).find(([type]) => type === 'channel.stale')
    assert.deepEqual(stale?.[1], {
      kind: 'runtime',
      handleOrDomain: 'home-server',
      reason: 'key-compromised',
    })
    assert.deepEqual(await statusOf(service, did), ['suspended', KEY_COMPROMISED])
    const answer = await unchanged(service, () => victim.answer(challenge))
    assertRefused(answer, 403, 'FORBIDDEN', REPORTED)
  })

  test('is burned by the operator too, and by no other reason', async (t) => {
    const service = await startTestService(t)
    const owner = await newOwner(service)
    const [burned, free] = [newKey(), newKey()]
    const dids = {
      burned: await claimAgent(service, owner.ownerId, burned, 'a'),
      sibling: await claimAgent(service, owner.ownerId, burned, 'b'),
      free: await claimAgent(service, owner.ownerId, free, 'c'),
      freeSibling: await claimAgent(service, owner.ownerId, free, 'd'),
    }
    const revoke = (did: string, reason: string) =>
      countersignd(service.env, 'agent', 'revoke', did, '--reason', reason)
    assert.equal((await revoke(dids.burned, KEY_COMPROMISED)).code, 0)
    assert.equal((await revoke(dids.free, 'misbehaved')).code, 0)
    await until(async () => (await statusOf(service, dids.free))[0] === 'revoked')
    assert.deepEqual(await statusOf(service, dids.sibling), ['revoked', KEY_COMPROMISED])
    assert.deepEqual(await statusOf(service, dids.freeSibling), ['active', null])
    await assertUnclaimable(service, owner.ownerId, burned, REPORTED)
    assert.equal((await claimKey(service, owner.ownerId, free, 'again')).status, 200)
  })

  test('is burned with all agents of the owner, each counted once', async (t) => {
    const service = await startTestService(t)
    const owner = await newOwner(service, 'ada')
    const [shared, single] = [newKey(), newKey()]
    for (const label of ['a', 'b', 'c']) await claimAgent(service, owner.ownerId, shared, label)
    const last = await claimAgent(service, owner.ownerId, single)
    const body = { username: 'ada', reason: KEY_COMPROMISED }
    const answer = await owner.post(`${AGENTS}/revoke-all`, body)
    assert.deepEqual(jsonOf(answer), { revokedAgents: 4 })
    assert.deepEqual(await statusOf(service, last), ['revoked', KEY_COMPROMISED])
    for (const key of [shared, single]) {
      await assertUnclaimable(service, owner.ownerId, key, REPORTED)
    }
    const events = await service.operator.db.read.selectFrom('events').select('type').execute()
    assert.equal(events.filter(({ type }) => type === 'agent.revoked').length, 4)
  })

  test('is never verified, whichever of its claims and the report comes first', async (t) => {
    const service = await startTestService(t, { KEY_REUSE: 'any' })
    const owner = await newOwner(service)
    const others = await Promise.all(Array.from({ length: 6 }, () => newOwner(service)))
    for (let round = 0; round < 8; round++) {
      const key = newKey()
      const did = await claimAgent(service, owner.ownerId, key, 'reported')
      const claims = others.map(({ ownerId }, i) => claimKey(service, ownerId, key, `label ${i}`))
      const report = owner.post(`${AGENTS}/${did}/revoke`, BURN)
      const answers = await Promise.all(claims)
      assert.equal((await report).status, 200)
      await assertBurned(service, key)
      for (const answer of answers) {
        if (answer.status !== 200) {
          assertRefused(answer, 409, 'KEY_ALREADY_CLAIMED', REPORTED)
          continue
        }
        const late = jsonOf(answer).svcDid as string
        assert.deepEqual(await statusOf(service, late), ['suspended', KEY_COMPROMISED])
      }
    }
  })
})

test('the agent object has the sequence number of the key', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  assert.equal(jsonOf(await ask(service, `/api/agents/${did}`)).keySequence, 1)
})
