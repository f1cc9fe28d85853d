import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { AgentKeys, Notifications } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import {
  reportBody,
  reportWith,
  rotateTo,
  type Signed,
} from '../../../../../test/support/key-operations.ts'
import {
  claimAgent,
  claimBody,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { assertUnclaimable, eventTypesOf, statusOf, verifyKey } from '../manage/keys.ts'
import {
  AGENTS,
  assertEnded,
  assertProves,
  historyOf,
  REPORTED,
  recoverWith,
  signInBy,
  startRecovery,
  TestClock,
} from './with-keys.ts'

suite('a report of a key', () => {
  const clock = new TestClock()
  const ends: (() => unknown)[] = []
  let service: TestService
  before(async () => {
    service = await startTestService({ after: (end) => ends.push(end) }, {}, clock.now)
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })

  async function withAgent() {
    const ownerId = await service.operator.addVerifiedOwner()
    const owner = await signInBy(service, ownerId, clock.now)
    const key = newKey()
    const did = await claimAgent(service, ownerId, key)
    return { ownerId, owner, key, did }
  }

  const report = (did: string, old: TestKey, sequence = 1, changed: Partial<Signed> = {}) =>
    reportWith(service, did, { old, sequence }, { ...clock.signed, ...changed })

  const statesIn = (answer: Answer) => {
    assert.equal(answer.status, 200, answer.text)
    return jsonOf<AgentKeys>(answer).keys.map(({ sequence, state }) => [sequence, state])
  }

  test('by the key burns it and suspends the agent, whose owner recovers it; again, it changes nothing', async () => {
    const { owner, key, did } = await withAgent()
    const answer = await report(did, key)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.deepEqual(statesIn(answer), [[1, 'compromised']])
    await assertEnded(service, key, REPORTED)
    assert.deepEqual(await statusOf(service, did), ['suspended', 'key_compromised'])
    const again = await unchanged(service, () => report(did, key))
    assert.deepEqual(jsonOf(again), jsonOf(answer))
    const next = newKey()
    const token = await startRecovery(owner, did, 'key_compromised')
    const redeemed = { token, next, sequence: 2 }
    assert.equal((await recoverWith(service, did, redeemed, clock.signed)).status, 200)
    clock.advance(73)
    await untilTicked(service, async () => (await statusOf(service, did))[0] === 'active')
    await assertProves(service, next, did)
  })

  test('of a former key leaves the agent active, and tells its owner', async () => {
    const { ownerId, key, did } = await withAgent()
    const [next, third] = [newKey(), newKey()]
    await rotateTo(service, did, { old: key, next, sequence: 2 }, clock.signed)
    await rotateTo(service, did, { old: next, next: third, sequence: 3 }, clock.signed)
    const owner = await signInBy(service, ownerId, clock.now)
    const states = [
      [1, 'compromised'],
      [2, 'retired'],
      [3, 'current'],
    ]
    assert.deepEqual(statesIn(await report(did, key)), states)
    await assertProves(service, third, did)
    assert.deepEqual((await eventTypesOf(service, did)).slice(2), ['agent.key_compromised'])
    const listed = jsonOf<Notifications>(await owner.get('/api/account/notifications'))
    const [newest] = listed.notifications
    assert.equal(newest?.title, 'An agent: key reported as compromised')
    const answer = await owner.post(`${AGENTS}/${did}/keys/compromised`, { sequence: 2 })
    assert.deepEqual(statesIn(answer)[1], [2, 'compromised'])
  })

  test('of a key of a revoked agent suspends the agent that another owner has claimed with it, and claims get 409', async () => {
    const { key, did } = await withAgent()
    const thief = await withAgent()
    await setStatus(service, did, 'revoked')
    const stolen = await claimAgent(service, thief.ownerId, key, 'mine')
    assert.equal((await verifyKey(service, key)).verified, true)
    const token = await service.operator.issueToken(thief.ownerId)
    const pending = claimBody(token, key, 'later')
    assert.deepEqual(statesIn(await report(did, key)), [[1, 'compromised']])
    assert.deepEqual(await statusOf(service, did), ['revoked', null])
    assert.deepEqual(await statusOf(service, stolen), ['suspended', 'key_compromised'])
    assert.deepEqual(await historyOf(service, stolen), [[1, 'compromised', 'claim']])
    await assertEnded(service, key, REPORTED)
    const late = await post(service, '/api/v1/claim', pending)
    assertRefused(late, 409, 'KEY_ALREADY_CLAIMED', /reported as compromised/)
    const change = { old: thief.key, next: key, sequence: 2 }
    const rotated = await rotateTo(service, thief.did, change, clock.signed)
    assertRefused(rotated, 409, 'KEY_ALREADY_CLAIMED', /reported as compromised/)
    await assertUnclaimable(service, thief.ownerId, key, /reported as compromised/)
    const again = await unchanged(service, () => report(stolen, key))
    assert.deepEqual(statesIn(again), [[1, 'compromised']])
  })

  test('by the owner or the operator needs no key, and works for a revoked agent', async () => {
    const first = await withAgent()
    await setStatus(service, first.did, 'revoked')
    const byOwner = (sequence: number) =>
      first.owner.post(`${AGENTS}/${first.did}/keys/compromised`, { sequence })
    assert.deepEqual(statesIn(await byOwner(1)), [[1, 'compromised']])
    assert.deepEqual(statesIn(await unchanged(service, () => byOwner(1))), [[1, 'compromised']])
    assertRefused(await byOwner(2), 404, 'NOT_FOUND', /no key with the sequence 2/)
    assertRefused(await byOwner(0), 400, 'VALIDATION_ERROR')
    const other = await withAgent()
    const path = `${AGENTS}/${other.did}/keys/compromised`
    assertRefused(await first.owner.post(path, { sequence: 1 }), 404, 'NOT_FOUND')
    assertRefused(await post(service, path, { sequence: 1 }), 401, 'UNAUTHENTICATED')

    const next = newKey()
    const rotation = { old: other.key, next, sequence: 2 }
    await rotateTo(service, other.did, rotation, clock.signed)
    const operator = (...args: string[]) =>
      countersignd(service.env, 'agent', 'report-key', other.did, ...args)
    const former = await operator('--sequence', '1', '--json')
    assert.equal(former.code, 0, former.stderr)
    const reported = { did: other.did, sequence: 1, status: 'active' }
    assert.deepEqual(JSON.parse(former.stdout), reported)
    assert.notEqual((await operator('--sequence', '3')).code, 0)
    assert.notEqual((await operator('--sequence', '0')).code, 0)
    const current = JSON.parse((await operator('--json')).stdout)
    assert.deepEqual(current, { ...reported, sequence: 2, status: 'suspended' })
    const states = [
      [1, 'compromised', 'claim'],
      [2, 'compromised', 'rotation'],
    ]
    assert.deepEqual(await historyOf(service, other.did), states)
  })

  test('by the key needs its signature over exactly this operation, with the number of that key', async () => {
    const { key, did } = await withAgent()
    const other = await withAgent()
    const next = newKey()
    await rotateTo(service, did, { old: key, next, sequence: 2 }, clock.signed)
    const good = reportBody(service, did, { old: key, sequence: 1 }, clock.signed)
    const { issuedAt } = good
    const send = (body: object, agent = did) =>
      post(service, `/api/v1/agent/${agent}/keys/compromised`, body)
    const signed = (changed: Partial<Signed>, old = key) =>
      reportBody(service, did, { old, sequence: changed.sequence ?? 1 }, { issuedAt, ...changed })
    const refused: [
      body: object,
      status: number,
      code: 'INVALID_SIGNATURE' | 'VALIDATION_ERROR',
    ][] = [
      [signed({}, newKey()), 401, 'INVALID_SIGNATURE'],
      [signed({ sequence: 2 }), 401, 'INVALID_SIGNATURE'],
      [signed({ first: 0x20 }), 401, 'INVALID_SIGNATURE'],
      [signed({ operation: 'renounce' }), 401, 'INVALID_SIGNATURE'],
      [signed({ version: 'v2' }), 401, 'INVALID_SIGNATURE'],
      [signed({ service: 'https://elsewhere.example' }), 401, 'INVALID_SIGNATURE'],
      [signed({ did: other.did }), 401, 'INVALID_SIGNATURE'],
      [signed({ next }), 401, 'INVALID_SIGNATURE'],
      [{ ...good, issuedAt: issuedAt - 1 }, 401, 'INVALID_SIGNATURE'],
      [signed({ issuedAt: issuedAt - 400 }), 400, 'VALIDATION_ERROR'],
      [signed({ issuedAt: issuedAt + 400 }), 400, 'VALIDATION_ERROR'],
      [{ ...good, sequence: 0 }, 400, 'VALIDATION_ERROR'],
      [{ ...good, signature: 'AA==' }, 400, 'VALIDATION_ERROR'],
      [{ sequence: 1 }, 400, 'VALIDATION_ERROR'],
    ]
    for (const [body, status, code] of refused) {
      assertRefused(await unchanged(service, () => send(body)), status, code)
    }
    const missing = await unchanged(service, () => send(signed({ sequence: 3 })))
    assertRefused(missing, 404, 'NOT_FOUND', /it has had 2/)
    assertRefused(await send(good, `svc:agent:${'1'.repeat(24)}`), 404, 'NOT_FOUND')
    assertRefused(await send(good, 'nonsense'), 400, 'VALIDATION_ERROR')
    assert.deepEqual(await statusOf(service, did), ['active', null])
  })

  test('of a key that two agents of two owners have had burns it for both', async () => {
    const shared = await startTestService({ after: (end) => ends.push(end) }, { KEY_REUSE: 'any' })
    const key = newKey()
    const [mine, theirs] = [
      await claimAgent(shared, await shared.operator.addVerifiedOwner(), key, 'mine'),
      await claimAgent(shared, await shared.operator.addVerifiedOwner(), key, 'theirs'),
    ]
    const next = newKey()
    assert.equal((await rotateTo(shared, theirs, { old: key, next, sequence: 2 })).status, 200)
    const answer = await reportWith(shared, mine, { old: key, sequence: 1 })
    assert.deepEqual(statesIn(answer), [[1, 'compromised']])
    assert.deepEqual(await historyOf(shared, theirs), [
      [1, 'compromised', 'claim'],
      [2, 'current', 'rotation'],
    ])
    assert.deepEqual((await eventTypesOf(shared, theirs)).at(-1), 'agent.key_compromised')
    assert.deepEqual(await statusOf(shared, theirs), ['active', null])
  })
})
