import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { actingFor } from '../../../../../test/support/organisations.ts'
import { until, untilTicked } from '../../../../../test/support/until.ts'
import { textOf } from '../../pages/support/html.ts'
import { payloadOf, type Receiver, startReceiver } from '../../webhooks/support/receiver.ts'
import { WEBHOOKS } from '../../webhooks/support/webhook-world.ts'
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

test('agents that a member accepted who has left since have no responsible person, and managers are told', async (t) => {
  const world = await TransferWorld.start(t)
  const [ada, founder] = [await world.person('ada'), await world.person('founder')]
  const acme = await world.organisation(founder)
  await world.verify(acme.ownerId)
  const grace = await world.member('acme', await world.person('grace'), 'manager')
  const did = await world.claim(ada.ownerId)
  await accepted(grace, await offer(ada, [did], 'acme'))
  assert.equal((await grace.send('DELETE', `/api/account/members/${grace.membership}`)).status, 200)
  world.clock.advance(73)
  await world.untilMoved(did, acme.ownerId)
  const { db } = world.service.operator
  await untilTicked(world.service, async () => {
    const told = await db.read
      .selectFrom('notifications')
      .select('id')
      .where('owner_id', '=', acme.ownerId)
      .where('kind', '=', 'responsible_missing')
      .execute()
    return told.length === 1
  })
  const admin = actingFor(await world.signInBy(founder.ownerId), 'acme')
  assert.equal(jsonOf(await admin.get(`${AGENTS}/${did}`)).responsible, null)
})

test('the webhooks of the sender get the release, those of the receiver the change of the owner and what follows', async (t) => {
  const world = await TransferWorld.start(t, { RECOVERY_DELAY: '0' })
  const { service } = world
  const [ada, grace] = [await world.person('ada'), await world.person('grace')]
  const did = await world.claim(ada.ownerId)
  const receivers = { ada: await startReceiver(t), grace: await startReceiver(t) }
  for (const [owner, { url }] of [
    [ada, receivers.ada],
    [grace, receivers.grace],
  ] as const) {
    assert.equal((await owner.post(WEBHOOKS, { url })).status, 201)
  }
  await accepted(grace, await offer(ada, [did], 'grace'))
  assert.equal((await grace.post(`${AGENTS}/${did}/suspend`)).status, 200)
  const ofAgent = ({ received }: Receiver) =>
    received.map(payloadOf).filter(({ data }) => data.svcDid === did)
  await untilTicked(service, async () => ofAgent(receivers.grace).length >= 3)
  await untilTicked(service, async () => ofAgent(receivers.ada).length >= 1)
  const typesAt = (receiver: Receiver) =>
    ofAgent(receiver)
      .map(({ type }) => type)
      .toSorted()
  assert.deepEqual(typesAt(receivers.ada), ['agent.released'])
  assert.deepEqual(typesAt(receivers.grace), [
    'agent.grade_changed',
    'agent.owner_changed',
    'agent.suspended',
  ])
  const texts = [...receivers.ada.received, ...receivers.grace.received].map(({ body }) => body)
  assert.ok(texts.every((text) => !text.includes('tr_')))
})

test('the certificate page says when the owner changed, and that the key is older, until it is rotated', async (t) => {
  const world = await TransferWorld.start(t, { RECOVERY_DELAY: '0' })
  const { service } = world
  const [ada, grace] = [await world.person('ada'), await world.person('grace')]
  const key = newKey()
  const did = await world.claim(ada.ownerId, key)
  const page = async () => textOf((await ask(service, `/agent/${did}`)).text)
  assert.doesNotMatch(await page(), /Owner changed on|older than this owner/)
  await accepted(grace, await offer(ada, [did], 'grace'))
  await until(async () => (await page()).includes('Owner changed on'))
  const moved = await page()
  const { ownerChangedAt } = jsonOf<{ ownerChangedAt: string }>(
    await ask(service, `/api/agents/${did}`),
  )
  const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
  assert.ok(moved.includes(`Owner changed on ${day.format(new Date(ownerChangedAt))}`), moved)
  assert.match(moved, /The key is older than this owner/)
  assert.match(moved, /@grace/)
  assert.doesNotMatch(moved, /@ada/)
})
