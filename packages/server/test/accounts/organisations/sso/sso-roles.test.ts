import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../../test/support/answer.ts'
import { insertScimToken, insertScimUser } from './scim-rows.ts'
import {
  codeIn,
  givePasskey,
  linkToSso,
  memberNamed,
  signInBySso,
  startSsoWorld,
} from './sso-world.ts'

const AGENTS = '/api/account/agents'

test('each sign-in sets the role by the highest of the exact groups', async (t) => {
  const world = await startSsoWorld(t)
  const person = { sub: 'lea', name: 'Lea' }
  const cases = [
    { groups: ['staff'], role: 'viewer' },
    { groups: ['staff', 'leads', 'duty'], role: 'manager' },
    { groups: ['duty', 'STAFF', '__proto__', 'constructor'], role: 'responder' },
    { groups: 'staff', role: 'viewer' },
  ]
  const ids = new Set()
  for (const { groups, role } of cases) {
    await signInBySso(world, { ...person, groups })
    const member = await memberNamed(world.acme, 'Lea')
    assert.equal(member?.role, role)
    ids.add(member?.id)
  }
  assert.equal(ids.size, 1)
})

test('without a mapped group the membership ends, and what it allowed; a later group gives a new one', async (t) => {
  const world = await startSsoWorld(t)
  const person = { sub: 'lea', name: 'Lea' }
  const { visitor } = await signInBySso(world, { ...person, groups: ['leads'] })
  const created = await visitor.post('/api/account/api-keys', {
    name: 'CI',
    scopes: ['agents:read'],
  })
  const { secret } = jsonOf<{ secret: string }>(created)
  const before = await memberNamed(world.acme, 'Lea')
  for (const groups of [['admin', 'admins', 'administrators'], [], undefined]) {
    const { page } = await signInBySso(world, { ...person, groups })
    assert.equal(codeIn(page), 'no-role')
    assert.equal(await memberNamed(world.acme, 'Lea'), undefined)
  }
  assert.equal((await visitor.get(AGENTS)).status, 401)
  const headers = { authorization: `Bearer ${secret}` }
  assert.equal((await fetch(`${world.service.url}${AGENTS}`, { headers })).status, 401)
  const { end_reason } = await world.service.operator.db.read
    .selectFrom('memberships')
    .select('end_reason')
    .where('id', '=', String(before?.id))
    .executeTakeFirstOrThrow()
  assert.equal(end_reason, 'no_group')
  await signInBySso(world, { ...person, groups: ['duty'] })
  const after = await memberNamed(world.acme, 'Lea')
  assert.equal(after?.role, 'responder')
  assert.notEqual(after?.id, before?.id)
})

test('groups that the token does not carry, or too many, are refused without a change', async (t) => {
  const world = await startSsoWorld(t)
  const person = { sub: 'lea', name: 'Lea' }
  await signInBySso(world, { ...person, groups: ['leads'] })
  const many = (count: number) => Array.from({ length: count }, (_, i) => `group-${i}`)
  const overage = {
    _claim_names: { groups: 'src1' },
    _claim_sources: { src1: { endpoint: 'https://graph.example.com' } },
  }
  const cases = [
    { claims: overage, code: 'too-many-groups' },
    { claims: { ...overage, groups: ['leads'] }, code: 'too-many-groups' },
    { claims: { groups: many(1001) }, code: 'too-many-groups' },
    { claims: { groups: [...many(1001), 'leads'] }, code: 'too-many-groups' },
    { claims: { groups: ['leads', 7] }, code: 'invalid-response' },
    { claims: { groups: { leads: true } }, code: 'invalid-response' },
  ]
  for (const { claims, code } of cases) {
    const { page, visitor } = await signInBySso(world, { ...person, ...claims })
    assert.equal(codeIn(page), code)
    assert.equal((await visitor.get(AGENTS)).status, 401)
    assert.equal((await memberNamed(world.acme, 'Lea'))?.role, 'manager')
  }
  const { page } = await signInBySso(world, { ...person, groups: [...many(999), 'duty'] })
  assert.equal(codeIn(page), null)
  assert.equal((await memberNamed(world.acme, 'Lea'))?.role, 'responder')
})

test('groups never change a role that a person gave', async (t) => {
  const world = await startSsoWorld(t)
  const grace = await world.acme.addMember('grace', 'admin')
  await linkToSso(world, grace.self, 'acme', { sub: 'grace' })
  for (const groups of [['staff'], [], undefined]) {
    const { visitor, page } = await signInBySso(world, { sub: 'grace', groups })
    assert.equal(codeIn(page), null)
    const session = jsonOf<{ person: { username: string } }>(await visitor.get('/api/session'))
    assert.equal(session.person.username, 'grace')
    // An admin is a manager in this session.
    assertRefused(await visitor.get('/api/account/sso'), 403, 'FORBIDDEN')
    const { members } = jsonOf<{ members: { username?: string; role: string; source: string }[] }>(
      await world.acme.admin.get('/api/account/members'),
    )
    const { role, source } = members.find(({ username }) => username === 'grace') ?? {}
    assert.deepEqual([role, source], ['admin', 'manual'])
  }
})

test('an identity is linked once, by a member in their own session', async (t) => {
  const world = await startSsoWorld(t)
  const grace = await world.acme.addMember('grace', 'viewer')
  const heidi = await world.acme.addMember('heidi', 'viewer')
  const linked = '/dashboard/account/security?linked=organisation'
  assert.equal(await linkToSso(world, grace.self, 'acme', { sub: 'grace' }), linked)
  const twice = await linkToSso(world, heidi.self, 'acme', { sub: 'grace' })
  assert.equal(codeIn(twice), 'already-linked')
  const second = await linkToSso(world, grace.self, 'acme', { sub: 'another' })
  assert.equal(codeIn(second), 'already-linked')
  const { visitor } = await signInBySso(world, { sub: 'grace' })
  assertRefused(await visitor.post('/api/account/sso/link'), 403, 'FORBIDDEN')
  const stranger = await world.acme.admin.self.post('/api/account/sso/link')
  assertRefused(stranger, 400, 'VALIDATION_ERROR')
  // It is no sign-in method of the account itself, which it cannot open.
  await givePasskey(world.service, grace.ownerId)
  const [{ credential_id: id } = { credential_id: '' }] = await world.service.operator.db.read
    .selectFrom('passkeys')
    .select('credential_id')
    .where('owner_id', '=', grace.ownerId)
    .execute()
  const removal = await grace.self.send('DELETE', `/api/account/passkeys/${id}`)
  assertRefused(removal, 400, 'VALIDATION_ERROR', /last sign-in method/)
})

test('a managed account has a clean name, is nowhere public, and owns nothing', async (t) => {
  const world = await startSsoWorld(t)
  const names = [
    { name: ' Lea \n Lead ', shown: 'Lea Lead' },
    { name: 'x'.repeat(80), shown: 'x'.repeat(64) },
    { name: '\u202egnisrever', shown: 'Member' },
    { name: 'Verified ✓', shown: 'Member' },
    { name: 42, shown: 'Member' },
    { name: undefined, shown: 'Member' },
  ]
  for (const [i, { name, shown }] of names.entries()) {
    const { page } = await signInBySso(world, { sub: `person-${i}`, name, groups: ['staff'] })
    assert.equal(codeIn(page), null)
    assert.ok(await memberNamed(world.acme, shown), shown)
  }
  const { db } = world.service.operator
  const managed = await db.read
    .selectFrom('owners')
    .selectAll()
    .where('kind', '=', 'member')
    .execute()
  assert.equal(managed.length, names.length)
  for (const { username } of managed) {
    assert.match(username, /^member:[1-9A-HJ-NP-Za-km-z]{12}$/)
    const attempts = [
      `/api/v1/owner/${encodeURIComponent(username)}`,
      `/owner/${encodeURIComponent(username)}`,
    ]
    for (const path of attempts) {
      assert.equal((await fetch(world.service.url + path)).status, 404)
    }
  }
})

test('while a SCIM token lives, only an active user of the directory signs in', async (t) => {
  const world = await startSsoWorld(t)
  const { service, acme } = world
  const person = { sub: 'lea', name: 'Lea', groups: ['leads'] }
  await insertScimToken(service, acme.admin.membership, acme.id)
  const refused = await signInBySso(world, person)
  assert.equal(codeIn(refused.page), 'not-provisioned')
  assert.equal(await memberNamed(acme, 'Lea'), undefined)

  await insertScimUser(service, acme.id, { external_id: 'lea', active: 0 })
  assert.equal(codeIn((await signInBySso(world, person)).page), 'not-provisioned')
  await service.operator.db.write((tx) =>
    tx.db.updateTable('scim_users').set({ active: 1 }).execute(),
  )
  assert.equal(codeIn((await signInBySso(world, person)).page), null)
  const user = await service.operator.db.read
    .selectFrom('scim_users')
    .selectAll()
    .executeTakeFirstOrThrow()
  const lea = await service.operator.db.read
    .selectFrom('owners')
    .selectAll()
    .where('id', '=', Number(user.person_id))
    .executeTakeFirstOrThrow()
  assert.equal(lea.display_name, 'Lea')
})

test('the last emergency admin cannot be linked to a user of the directory', async (t) => {
  const world = await startSsoWorld(t)
  const { service, acme } = world
  await insertScimUser(service, acme.id, { external_id: 'boss', active: 1 })
  const page = await linkToSso(world, acme.admin.self, 'acme', { sub: 'boss' })
  assert.equal(codeIn(page), 'last-emergency-admin')
  const linked = service.operator.db.read.selectFrom('sign_in_identities').selectAll()
  assert.deepEqual(await linked.execute(), [])

  const second = await acme.addMember('grace', 'admin')
  await givePasskey(service, second.ownerId)
  const again = await linkToSso(world, acme.admin.self, 'acme', { sub: 'boss' })
  assert.equal(codeIn(again), null)
})
