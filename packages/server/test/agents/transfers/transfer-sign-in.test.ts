import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { actingFor } from '../../../../../test/support/organisations.ts'
import { HOUR_MS, signInBy } from '../../../../../test/support/sign-in-by.ts'
import { endMembership } from '../../../src/accounts/organisations/end-membership.ts'
import { AGENTS, accept, offer, start, stateOf, TransferWorld } from './with-transfers.ts'

test('a stolen session that creates an organisation cannot move agents into it', async (t) => {
  const world = await TransferWorld.start(t)
  const ada = await world.person('ada')
  const did = await world.claim(ada.ownerId)
  const { service, clock } = world
  const stolen = await signInBy(service, ada.ownerId, clock.now, {
    signedInAt: clock.now() - 11 * 60_000,
  })
  const created = { username: 'thief', displayName: 'Thief' }
  assertRefused(await stolen.post('/api/organisations', created), 403, 'RECENT_SIGN_IN_REQUIRED')
  // The thief adds a passkey of their own, and signs in with it.
  const added = await signInBy(service, ada.ownerId, clock.now, { addedAt: clock.now() - HOUR_MS })
  const thief = await world.organisation(added, 'thief')
  await world.verify(thief.ownerId)
  const others = [
    stolen,
    added,
    await signInBy(service, ada.ownerId, clock.now, { method: 'link' }),
    await signInBy(service, ada.ownerId, clock.now, { method: 'recovery-code' }),
    await signInBy(service, ada.ownerId, clock.now, {
      method: 'provider',
      addedAt: clock.now() - 71 * HOUR_MS,
    }),
  ]
  for (const session of others) {
    assertRefused(await start(session, [did], 'thief'), 403, 'RECENT_SIGN_IN_REQUIRED')
  }
  assert.equal((await world.agent(did)).owner_id, ada.ownerId)
  const owner = await world.signInBy(ada.ownerId)
  assert.equal((await start(owner, [did], 'thief')).status, 201)
})

test('a member starts a transfer or a recovery 72 hours after they got the role, a founder at once', async (t) => {
  const world = await TransferWorld.start(t)
  const [ada, grace] = [await world.person('ada'), await world.person('grace')]
  const acme = await world.organisation(ada)
  await world.verify(acme.ownerId)
  const did = await world.claim(acme.ownerId)
  const recent = await world.member('acme', grace, 'admin', 71)
  assertRefused(await start(recent, [did], 'grace'), 403, 'RECENT_SIGN_IN_REQUIRED', /role/)
  const recovery = `${AGENTS}/${did}/recovery`
  const lost = { reason: 'key_lost' }
  assertRefused(await recent.post(recovery, lost), 403, 'RECENT_SIGN_IN_REQUIRED', /role/)
  const linus = await world.person('linus')
  const manager = await world.member('acme', linus, 'manager', 73)
  assertRefused(await start(manager, [did], 'linus'), 403, 'FORBIDDEN', /role admin/)
  assert.equal((await manager.post(recovery, lost)).status, 201)
  assert.equal((await manager.send('DELETE', recovery)).status, 204)
  const { id } = jsonOf<{ id: string }>(await start(acme, [did], 'grace'))
  assert.match(id, /^tr_/)

  // A session by the identity provider of the organisation acts with no more than the role of a manager, and never starts either.
  const limited = await signInBy(world.service, linus.ownerId, world.clock.now)
  const { db } = world.service.operator
  await db.write((tx) =>
    tx.db
      .updateTable('sessions')
      .set({ limited_to: acme.ownerId })
      .where('owner_id', '=', linus.ownerId)
      .execute(),
  )
  const byProvider = actingFor(limited, 'acme')
  assertRefused(await byProvider.post(recovery, lost), 403, 'RECENT_SIGN_IN_REQUIRED')
})

test('each transfer needs its role, and who accepts becomes responsible', async (t) => {
  const world = await TransferWorld.start(t)
  const [ada, grace, linus] = [
    await world.person('ada'),
    await world.person('grace'),
    await world.person('linus'),
  ]
  const acme = await world.organisation(linus)
  await world.verify(acme.ownerId)
  const did = await world.claim(ada.ownerId)
  const id = await offer(ada, [did], 'acme')
  const viewer = await world.member('acme', grace, 'viewer')
  assertRefused(await accept(viewer, id), 403, 'FORBIDDEN')
  assert.deepEqual(await stateOf(viewer), ['offered', null])
  const manager = await world.member('acme', await world.person('mona'), 'manager', 1)
  assert.equal((await accept(manager, id)).status, 200)
  world.clock.advance(73)
  await world.untilMoved(did, acme.ownerId)
  assert.equal((await world.agent(did)).responsible, manager.membership)
})

test('a transfer that a member has started ends with the membership or the role', async (t) => {
  const world = await TransferWorld.start(t)
  const [ada, grace] = [await world.person('ada'), await world.person('grace')]
  const acme = await world.organisation(ada)
  await world.verify(acme.ownerId)
  const [one, two] = [
    await world.claim(acme.ownerId),
    await world.claim(acme.ownerId, newKey(), 'two'),
  ]
  const admin = await world.member('acme', grace, 'admin')
  await offer(admin, [one], 'grace')
  await offer(acme, [two], 'grace')
  const ended = await world.service.operator.db.write((tx) =>
    endMembership(tx, admin.membership, 'removed', world.clock.now()),
  )
  assert.equal(ended?.transfersEnded, 1)
  const states = (await grace.get('/api/account/transfers')).text
  assert.equal(states.match(/"cancelled"/g)?.length, 1)
  assert.equal(states.match(/"offered"/g)?.length, 1)

  const three = await world.claim(acme.ownerId, newKey(), 'three')
  const lower = await world.member('acme', await world.person('mona'), 'admin')
  await offer(lower, [three], 'grace')
  const path = `/api/account/members/${lower.membership}`
  const changed = await acme.send('PATCH', path, { role: 'manager' })
  assert.equal(changed.status, 200, changed.text)
  const after = (await grace.get('/api/account/transfers')).text
  assert.equal(after.match(/"cancelled"/g)?.length, 2)
})
