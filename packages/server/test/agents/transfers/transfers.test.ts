import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
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

test('agents move to the owner who accepts them, after the delay of a recovery', async (t) => {
  const world = await TransferWorld.start(t)
  const { service, clock } = world
  const [ada, grace] = [await world.person('ada'), await world.person('grace')]
  const did = await world.claim(ada.ownerId)
  const id = await offer(ada, [did], 'grace')
  assert.equal((await transfersOf(grace))[0]?.direction, 'received')
  const { effectiveAt, state } = await accepted(grace, id)
  assert.equal(state, 'accepted')
  const delay = Date.parse(effectiveAt as string) - clock.now()
  assert.ok(Math.abs(delay - service.settings.recoveryDelayMs) < 60_000)
  assert.equal((await world.agent(did)).owner_id, ada.ownerId)
  assert.equal(jsonOf(await ask(service, `/api/agents/${did}`)).ownerChangedAt, undefined)

  clock.advance(73)
  await world.untilMoved(did, grace.ownerId)
  const newGrace = await world.signInBy(grace.ownerId)
  const newAda = await world.signInBy(ada.ownerId)
  assert.deepEqual(await stateOf(newGrace), ['done', null])
  assertRefused(await newAda.post(`${AGENTS}/${did}/revoke`), 404, 'NOT_FOUND')
  assert.equal((await newGrace.post(`${AGENTS}/${did}/suspend`)).status, 200)
  const { ownerChangedAt } = jsonOf(await ask(service, `/api/agents/${did}`))
  assert.ok(Math.abs(Date.parse(ownerChangedAt as string) - clock.now()) < 60_000)
  assertRefused(await accept(newGrace, id), 409, 'CONFLICT')
})

test('a person’s agents move at once into an organisation of which they are an admin', async (t) => {
  const world = await TransferWorld.start(t)
  const ada = await world.person('ada')
  const acme = await world.organisation(ada)
  const did = await world.claim(ada.ownerId)
  assertRefused(await start(ada, [did], 'acme'), 403, 'IDENTITY_REQUIRED')
  await world.verify(acme.ownerId)
  const started = await start(ada, [did], 'acme')
  assert.equal(started.status, 201, started.text)
  const { state, agents, to } = jsonOf(started)
  assert.deepEqual([state, agents, to], ['done', 1, 'acme'])
  assert.equal((await acme.post(`${AGENTS}/${did}/suspend`)).status, 200)
  const { responsible } = await world.agent(did)
  assert.match(String(responsible), /^mb_/)
  assert.equal((await transfersOf(acme))[0]?.from, 'ada')
  assertRefused(await ada.post(`${TRANSFERS}/tr_none/accept`), 404, 'NOT_FOUND')
})
