import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { ErrorCode, Tail } from '@countersign/protocol'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import { renounceWith, rotateTo } from '../../../../../test/support/key-operations.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { changeStatus } from '../../../src/agents/manage/change-status.ts'
import { reactivateOwner, suspendOwner } from '../../../src/agents/manage/suspend-owner.ts'
import {
  AGENTS,
  accept,
  accepted,
  offer,
  start,
  stateOf,
  TRANSFERS,
  TransferWorld,
  transfersOf,
} from './with-transfers.ts'

interface Agent {
  readonly did: string
  readonly key: TestKey
  readonly ada: SignedInOwner
}

suite('a transfer', () => {
  const ends: (() => unknown)[] = []
  let world: TransferWorld
  before(async () => {
    world = await TransferWorld.start({ after: (end) => ends.push(end) })
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })

  let people = 0

  /** Two people, and an agent of the first. */
  async function withAgent() {
    people += 1
    const [from, to] = [`ada-${people}`, `grace-${people}`]
    const ada = await world.person(from)
    const grace = await world.person(to)
    const key = newKey()
    const did = await world.claim(ada.ownerId, key)
    return { ada, grace, key, did, from, to }
  }

  const deps = () => ({ db: world.service.operator.db, now: world.clock.now })
  const operator = (did: string, to: 'suspended' | 'active') =>
    changeStatus(deps(), { tail: did.slice(-24) as Tail, to, reason: null, by: 'operator' })

  /** What keeps an agent where it is, with the code. */
  const CAUSES: readonly [string, ErrorCode, (agent: Agent) => Promise<unknown>][] = [
    ['a revocation', 'AGENT_NOT_ACTIVE', ({ ada, did }) => ada.post(`${AGENTS}/${did}/revoke`)],
    ['the operator’s suspension', 'CONFLICT', ({ did }) => operator(did, 'suspended')],
    [
      'the operator’s suspension of the key of an agent that its owner suspended before',
      'CONFLICT',
      async ({ ada, did }) => {
        await ada.post(`${AGENTS}/${did}/suspend`)
        await operator(did, 'suspended')
      },
    ],
    [
      'renouncing',
      'CONFLICT',
      ({ did, key }) =>
        renounceWith(world.service, did, { old: key, sequence: 1 }, world.clock.signed),
    ],
    [
      'the suspension of the sender',
      'FORBIDDEN',
      ({ ada }) => suspendOwner(deps(), ada.ownerId, null),
    ],
  ]

  for (const [cause, code, change] of CAUSES) {
    test(`is refused after ${cause}, at the start and at the end`, async () => {
      const first = await withAgent()
      await change(first)
      const status = code === 'FORBIDDEN' ? 403 : 409
      assertRefused(await start(first.ada, [first.did], first.to), status, code)

      const second = await withAgent()
      const other = await world.claim(second.ada.ownerId, newKey(), 'other')
      const id = await offer(second.ada, [second.did, other], second.to)
      await accepted(second.grace, id)
      await change(second)
      world.clock.advance(71)
      const again = await world.signInBy(second.grace.ownerId)
      assert.deepEqual(await stateOf(again), ['accepted', null])
      world.clock.advance(2)
      await untilTicked(
        world.service,
        async () => (await stateOf(await world.signInBy(second.grace.ownerId)))[0] !== 'accepted',
      )
      assert.deepEqual(await stateOf(await world.signInBy(second.grace.ownerId)), ['failed', code])
      for (const did of [second.did, other]) {
        assert.equal((await world.agent(did)).owner_id, second.ada.ownerId, 'all or none')
      }
    })
  }

  test('is refused while a recovery is pending, and none starts while it is open', async () => {
    const { ada, grace, did, to } = await withAgent()
    const recovery = `${AGENTS}/${did}/recovery`
    assert.equal((await ada.post(recovery, { reason: 'key_lost' })).status, 201)
    assertRefused(await start(ada, [did], to), 409, 'CONFLICT', /recovery/)
    assert.equal((await ada.send('DELETE', recovery)).status, 204)
    const id = await offer(ada, [did], to)
    assertRefused(await ada.post(recovery, { reason: 'key_lost' }), 409, 'CONFLICT', /transfer/)
    await accepted(grace, id)
    assertRefused(await ada.post(recovery, { reason: 'key_lost' }), 409, 'CONFLICT', /transfer/)
    assert.equal((await ada.post(`${TRANSFERS}/${id}/cancel`)).status, 200)
    assert.equal((await ada.post(recovery, { reason: 'key_lost' })).status, 201)
  })

  test('passes a rotation', async () => {
    const { ada, grace, key, did, to } = await withAgent()
    await accepted(grace, await offer(ada, [did], to))
    const keys = { old: key, next: newKey(), sequence: 2 }
    const rotated = await rotateTo(world.service, did, keys, world.clock.signed)
    assert.equal(rotated.status, 200, rotated.text)
    world.clock.advance(73)
    await world.untilMoved(did, grace.ownerId)
    assert.equal((await world.agent(did)).key_sequence, 2)
  })

  test('takes all agents of a key, current or replaced, or none', async () => {
    const { ada, key, did, to } = await withAgent()
    const sibling = await world.claim(ada.ownerId, key, 'sibling')
    assertRefused(await start(ada, [did], to), 409, 'CONFLICT', /same key/)
    const rotated = await rotateTo(
      world.service,
      did,
      { old: key, next: newKey(), sequence: 2 },
      world.clock.signed,
    )
    assert.equal(rotated.status, 200, rotated.text)
    assertRefused(await start(ada, [did], to), 409, 'CONFLICT', /same key/)
    assertRefused(await start(ada, [sibling], to), 409, 'CONFLICT', /same key/)
    await offer(ada, [did, sibling], to)
  })

  test('fails at its end if an agent with one of the keys was claimed meanwhile', async () => {
    const { ada, grace, key, did, to } = await withAgent()
    await accepted(grace, await offer(ada, [did], to))
    await world.claim(ada.ownerId, key, 'late')
    world.clock.advance(73)
    await untilTicked(
      world.service,
      async () => (await stateOf(await world.signInBy(ada.ownerId)))[0] === 'failed',
    )
  })

  test('names agents of the sender and another owner who exists', async () => {
    const { ada, grace, did, from, to } = await withAgent()
    const foreign = await world.claim(grace.ownerId)
    assertRefused(await start(ada, [foreign], to), 404, 'NOT_FOUND')
    assertRefused(await start(ada, [did, foreign], to), 404, 'NOT_FOUND')
    assertRefused(await start(ada, [did], 'nobody-at-all'), 404, 'NOT_FOUND')
    assertRefused(await start(ada, [did], from), 400, 'VALIDATION_ERROR')
    assertRefused(await start(ada, [], to), 400, 'VALIDATION_ERROR')
  })

  test('leaves an agent in one open transfer, and ten of them to an owner', async () => {
    const { ada, grace, did, to } = await withAgent()
    const other = await world.claim(ada.ownerId, newKey(), 'other')
    const id = await offer(ada, [did], to)
    assertRefused(await start(ada, [other, did], to), 409, 'CONFLICT', /another transfer/)
    assert.equal((await transfersOf(ada)).length, 1, 'nothing of it is left')
    assert.equal((await grace.post(`${TRANSFERS}/${id}/decline`)).status, 200)
    assert.deepEqual(await stateOf(ada), ['declined', null])
    assertRefused(await accept(grace, id), 409, 'CONFLICT')
    await offer(ada, [other, did], to)
    for (let i = 0; i < 9; i++) {
      await offer(ada, [await world.claim(ada.ownerId, newKey(), `more-${i}`)], to)
    }
    const last = await world.claim(ada.ownerId, newKey(), 'last')
    assertRefused(await start(ada, [last], to), 409, 'CONFLICT', /open/)
  })

  test('is accepted by its receiver only, once, in time, and verified', async () => {
    const { ada, grace, did, to } = await withAgent()
    const stranger = await world.person(`stranger-${people}`)
    const id = await offer(ada, [did], to)
    for (const [who, verb] of [
      [stranger, 'accept'],
      [stranger, 'decline'],
      [stranger, 'cancel'],
      [ada, 'accept'],
      [ada, 'decline'],
      [grace, 'cancel'],
    ] as const) {
      const answer = await who.post(`${TRANSFERS}/${id}/${verb}`)
      assertRefused(answer, 404, 'NOT_FOUND', /no such transfer/)
    }
    assert.equal((await transfersOf(stranger)).length, 0)
    assert.equal((await grace.send('DELETE', '/api/identity/in-person')).status, 204)
    assertRefused(await accept(grace, id), 403, 'IDENTITY_REQUIRED')
    await world.verify(grace.ownerId)
    const answers = await Promise.all([accept(grace, id), accept(grace, id), accept(grace, id)])
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 409, 409],
    )

    const late = await offer(ada, [await world.claim(ada.ownerId, newKey(), 'late')], to)
    world.clock.advance(7 * 24 + 1)
    const later = await world.signInBy(grace.ownerId)
    assertRefused(await accept(later, late), 409, 'CONFLICT')
    await untilTicked(world.service, async () => (await stateOf(later))[0] === 'expired')
  })

  test('fails if the account of its sender or its receiver is deleted', async () => {
    for (const who of ['ada', 'grace'] as const) {
      const parties = await withAgent()
      const { ada, grace, did, from, to } = parties
      await accepted(grace, await offer(ada, [did], to))
      const [leaver, username, other] =
        who === 'ada' ? [ada, from, grace] : ([grace, to, ada] as const)
      const deleted = await leaver.post('/api/account/deletion', { username })
      assert.ok(deleted.status < 300, deleted.text)
      assert.deepEqual(await stateOf(other), ['failed', 'NOT_FOUND'])
      const [transfer] = await transfersOf(other)
      assert.equal(who === 'ada' ? transfer?.from : transfer?.to, null)
      assert.deepEqual(transfer?.dids, [])
    }
  })

  test('of a suspended receiver is refused, and goes on after the suspension', async () => {
    const { ada, grace, did, to } = await withAgent()
    const id = await offer(ada, [did], to)
    await suspendOwner(deps(), grace.ownerId, null)
    assertRefused(await accept(grace, id), 403, 'FORBIDDEN')
    await reactivateOwner(deps(), grace.ownerId)
    await accepted(grace, id)
  })
})
