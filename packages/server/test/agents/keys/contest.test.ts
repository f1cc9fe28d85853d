import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { rotateTo } from '../../../../../test/support/key-operations.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { assertUnclaimable, claimKey, eventTypesOf, statusOf } from '../manage/keys.ts'
import {
  AGENTS,
  assertEnded,
  assertProves,
  historyOf,
  REPLACED,
  REPORTED,
  recoverWith,
  signInBy,
  startRecovery,
  TestClock,
} from './with-keys.ts'

/** K1 → K2 → K3: the rotations of a thief. */
async function withThreeKeys(service: TestService, owner: SignedInOwner, clock: TestClock) {
  const keys = [newKey(), newKey(), newKey()] as const
  const did = await claimAgent(service, owner.ownerId, keys[0], 'main')
  for (const sequence of [2, 3] as const) {
    const [old, next] = [
      keys[sequence - 2] as (typeof keys)[0],
      keys[sequence - 1] as (typeof keys)[0],
    ]
    const answer = await rotateTo(service, did, { old, next, sequence }, clock.signed)
    assert.equal(answer.status, 200, answer.text)
  }
  return { did, keys }
}

const contest = (owner: SignedInOwner, did: string, sequence: number, reason: string) =>
  owner.post(`${AGENTS}/${did}/keys/contest`, { sequence, reason })

suite('contest', () => {
  const clock = new TestClock()
  const ends: (() => unknown)[] = []
  let service: TestService
  before(async () => {
    service = await startTestService(
      { after: (end) => ends.push(end) },
      { RECOVERY_DELAY: '0', KEY_REUSE: 'any' },
      clock.now,
    )
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  const signedIn = async () =>
    signInBy(service, await service.operator.addVerifiedOwner(), clock.now)

  test('by compromise burns the last good key too, and suspends the agent until it is recovered', async () => {
    const owner = await signedIn()
    const { ownerId } = owner
    const thief = await signedIn()
    const { did, keys } = await withThreeKeys(service, owner, clock)
    const answer = await contest(owner, did, 1, 'key_compromised')
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(await statusOf(service, did), ['suspended', 'key_compromised'])
    for (const key of keys) {
      await assertEnded(service, key, REPORTED)
      await assertUnclaimable(service, ownerId, key, /compromised/)
      await assertUnclaimable(service, thief.ownerId, key, /compromised/)
    }
    assert.deepEqual(await historyOf(service, did), [
      [1, 'compromised', 'claim'],
      [2, 'compromised', 'rotation'],
      [3, 'compromised', 'rotation'],
    ])
    const types = await eventTypesOf(service, did)
    assert.equal(types.filter((type) => type === 'agent.key_compromised').length, 3)
    assert.equal(types.filter((type) => type === 'agent.key_contested').length, 1)
    const reactivate = await owner.post(`${AGENTS}/${did}/reactivate`)
    assertRefused(reactivate, 403, 'FORBIDDEN', /compromised/)
    const further = await rotateTo(
      service,
      did,
      { old: keys[2], next: newKey(), sequence: 4 },
      clock.signed,
    )
    assertRefused(further, 409, 'AGENT_NOT_ACTIVE')

    const token = await startRecovery(owner, did, 'key_compromised')
    const next = newKey()
    const asked = { token, next, sequence: 4 }
    assert.equal((await recoverWith(service, did, asked, clock.signed)).status, 200)
    await assertProves(service, next, did)
    assert.deepEqual(await statusOf(service, did), ['active', null])
  })

  test('of a mistake makes the last good key current again, under the next number', async () => {
    const owner = await signedIn()
    const { did, keys } = await withThreeKeys(service, owner, clock)
    const answer = await contest(owner, did, 1, 'mistake')
    assert.equal(answer.status, 200, answer.text)
    assert.equal(jsonOf(answer).keySequence, 4)
    await assertProves(service, keys[0], did)
    for (const key of [keys[1], keys[2]]) await assertEnded(service, key, REPORTED)
    assert.deepEqual(await historyOf(service, did), [
      [1, 'retired', 'claim'],
      [2, 'compromised', 'rotation'],
      [3, 'compromised', 'rotation'],
      [4, 'current', 'contest'],
    ])
    assert.deepEqual(await statusOf(service, did), ['active', null])
    const types = await eventTypesOf(service, did)
    assert.equal(types.filter((type) => type === 'agent.key_compromised').length, 2)
    assertRefused(await contest(owner, did, 1, 'mistake'), 409, 'CONFLICT', /contest/)
    const next = newKey()
    assert.equal(
      (await rotateTo(service, did, { old: keys[0], next, sequence: 5 }, clock.signed)).status,
      200,
    )
    await assertEnded(service, keys[0], REPLACED)
  })

  test('burns a key for siblings and for other owners (KEY_REUSE=any), which are suspended', async () => {
    const [owner, other] = [await signedIn(), await signedIn()]
    const { did, keys } = await withThreeKeys(service, owner, clock)
    const shared = keys[1]
    const sibling = jsonOf(await claimKey(service, owner.ownerId, shared, 'sibling')).svcDid
    const foreign = jsonOf(await claimKey(service, other.ownerId, shared, 'foreign')).svcDid
    assert.equal((await contest(owner, did, 1, 'mistake')).status, 200)
    for (const each of [sibling, foreign] as string[]) {
      assert.deepEqual(await statusOf(service, each), ['suspended', 'key_compromised'])
      assert.deepEqual(await historyOf(service, each), [[1, 'compromised', 'claim']])
    }
    await assertEnded(service, shared, REPORTED)
    assert.deepEqual(await statusOf(service, did), ['active', null])
  })

  test('ends after 72 hours, is for the owner alone, and needs a recent sign-in', async () => {
    const owner = await signedIn()
    const stranger = await signedIn()
    const { did } = await withThreeKeys(service, owner, clock)
    assertRefused(await contest(stranger, did, 1, 'mistake'), 404, 'NOT_FOUND')
    assertRefused(await contest(owner, did, 3, 'mistake'), 409, 'CONFLICT')
    assertRefused(await contest(owner, did, 9, 'mistake'), 409, 'CONFLICT')
    assertRefused(await contest(owner, did, 1, 'whim'), 400, 'VALIDATION_ERROR')
    clock.advance(1)
    assertRefused(await contest(owner, did, 1, 'mistake'), 403, 'RECENT_SIGN_IN_REQUIRED')
    clock.advance(73)
    const later = await signInBy(service, owner.ownerId, clock.now)
    const late = () => contest(later, did, 1, 'key_compromised')
    assertRefused(await unchanged(service, late), 409, 'CONFLICT', /72 hours/)
    await later.post(`${AGENTS}/${did}/revoke`)
    assertRefused(await contest(later, did, 1, 'mistake'), 409, 'AGENT_NOT_ACTIVE')
  })
})
