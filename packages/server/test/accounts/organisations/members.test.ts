import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndedAccess, MemberActions, Members, Role } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { insertAction } from '../../../src/accounts/organisations/action-table.ts'
import { endMembershipsOf } from '../../../src/accounts/organisations/end-membership.ts'
import { insertMembership } from '../../../src/accounts/organisations/membership-table.ts'
import { insertOwner } from '../../../src/accounts/owner-table.ts'
import {
  INVITATIONS,
  invite,
  MEMBERS,
  notificationsOf,
  remove,
  rolesIn,
  setRole,
} from './with-members.ts'

const DAY_MS = 86_400_000
const NOTHING = {
  apiKeysEnded: 0,
  tokensEnded: 0,
  recoveriesEnded: 0,
  transfersEnded: 0,
  responsibleFor: 0,
  toReview: { webhooks: [], grantIssuers: [], enrolmentRules: [] },
}

test('an admin changes the role of a member; both and the organisation are notified', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const member = await acme.addMember('grace', 'viewer', Date.now() - DAY_MS)
  const raised = await setRole(acme.admin, member, 'manager')
  assert.equal(raised.status, 200, raised.text)
  assert.deepEqual(jsonOf(raised), NOTHING)
  assert.equal((await rolesIn(acme.admin)).grace, 'manager')
  const [forMember = ''] = await notificationsOf(member.self, 'member_changed')
  assert.match(forMember, /“Acme” \(@acme\) you have the role manager, and had the role viewer/)
  const [forAcme = ''] = await notificationsOf(acme.admin, 'member_changed')
  assert.match(forAcme, /“Owner grace” has the role manager, and had the role viewer/)
})

test('the time since when a member has a role begins anew with a higher one only', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const since = Date.now() - 4 * DAY_MS
  const member = await acme.addMember('grace', 'manager', since)
  const roleSince = async () => {
    const { members } = jsonOf<Members>(await acme.admin.get(MEMBERS))
    return Date.parse(members.find(({ id }) => id === member.membership)?.roleSince as string)
  }
  const set = async (role: Role) =>
    assert.equal((await setRole(acme.admin, member, role)).status, 200)
  await set('viewer')
  assert.equal(await roleSince(), since)
  await set('manager')
  assert.ok((await roleSince()) > since + 3 * DAY_MS)
})

test('only an admin changes roles or removes others, after a recent sign-in; everybody may leave', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const manager = await acme.addMember('grace', 'manager')
  const viewer = await acme.addMember('tim', 'viewer')
  assertRefused(await setRole(manager, viewer, 'manager'), 403, 'FORBIDDEN')
  assertRefused(await setRole(manager, manager, 'admin'), 403, 'FORBIDDEN')
  assertRefused(await remove(manager, viewer), 403, 'FORBIDDEN', /at least the role admin/)
  const old = await signIn(service, acme.admin.ownerId, Date.now() - 11 * 60_000)
  for (const [method, body] of [['PATCH', { role: 'admin' }], ['DELETE']] as const) {
    const target = `${MEMBERS}/${viewer.membership}?organisation=acme`
    assertRefused(await old.send(method, target, body), 403, 'RECENT_SIGN_IN_REQUIRED')
  }
  assert.deepEqual(jsonOf(await remove(viewer, viewer)), NOTHING)
  assertRefused(await viewer.get(MEMBERS), 404, 'NOT_FOUND')
  const [left = ''] = await notificationsOf(acme.admin, 'member_changed')
  assert.match(left, /“Owner tim” left/)
})

test('a member of another organisation is unknown', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service, 'acme')
  const other = await createOrganisation(service, 'other')
  assertRefused(await setRole(acme.admin, other.admin, 'viewer'), 404, 'NOT_FOUND')
  assertRefused(await remove(acme.admin, other.admin), 404, 'NOT_FOUND')
  assertRefused(await other.admin.self.get(`${MEMBERS}?organisation=acme`), 404, 'NOT_FOUND')
  assert.deepEqual(await rolesIn(other.admin), { 'other-admin': 'admin' })
})

test('a removal ends API keys, sessions and invitations of the member, and nothing of others', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const leaver = await acme.addMember('grace', 'admin')
  const keys = '/api/account/api-keys'
  for (const who of [leaver, acme.admin]) {
    const made = await who.post(keys, { name: 'CI', scopes: ['agents:read'] })
    assert.equal(made.status, 201, made.text)
  }
  await service.operator.addVerifiedOwner('tim')
  await invite(leaver, { username: 'tim' }, 'viewer')
  const kept = await invite(acme.admin, { username: 'somebody' }, 'viewer')
  const { db } = service.operator
  await db.write((tx) =>
    tx.db
      .updateTable('sessions')
      .set({ limited_to: acme.id })
      .where('owner_id', '=', leaver.ownerId)
      .execute(),
  )
  const removed = await remove(acme.admin, leaver)
  assert.equal(jsonOf<EndedAccess>(removed).apiKeysEnded, 1, removed.text)
  assert.equal((await leaver.self.get('/api/account')).status, 401)
  const { invitations } = jsonOf<{ invitations: { id: string }[] }>(
    await acme.admin.get(INVITATIONS),
  )
  assert.deepEqual(
    invitations.map(({ id }) => id),
    [kept],
  )
  const { apiKeys } = jsonOf<{ apiKeys: unknown[] }>(await acme.admin.get(keys))
  assert.equal(apiKeys.length, 1)
  const again = await signIn(service, leaver.ownerId)
  const [notified = ''] = await notificationsOf(again, 'member_changed')
  assert.match(notified, /“Acme” \(@acme\)\. An admin removed you/)
  assertRefused(await remove(acme.admin, leaver), 404, 'NOT_FOUND')
})

test('an admin who becomes a manager loses their invitations; API keys do what the role allows', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const lowered = await acme.addMember('grace', 'admin')
  await invite(lowered, { username: 'somebody' }, 'viewer')
  await lowered.post('/api/account/api-keys', { name: 'CI', scopes: ['agents:read'] })
  assert.deepEqual(jsonOf(await setRole(acme.admin, lowered, 'manager')), NOTHING)
  assertRefused(await lowered.get(INVITATIONS), 403, 'FORBIDDEN')
  const list = async () =>
    jsonOf<{ invitations: unknown[] }>(await acme.admin.get(INVITATIONS)).invitations
  assert.deepEqual(await list(), [])
  assert.equal((await setRole(acme.admin, lowered, 'admin')).status, 200)
  assert.deepEqual(await list(), [])
})

test('a suspended organisation gives no higher role, and removes members', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const member = await acme.addMember('grace', 'manager')
  const { db } = service.operator
  await db.write((tx) =>
    tx.db
      .updateTable('owners')
      .set({ suspended_at: Date.now() })
      .where('id', '=', acme.id)
      .execute(),
  )
  assertRefused(await setRole(acme.admin, member, 'admin'), 403, 'FORBIDDEN')
  assert.equal((await setRole(acme.admin, member, 'viewer')).status, 200)
  assert.equal((await remove(acme.admin, member)).status, 200)
})

test('nobody is an admin of more than 5 organisations, and a managed account of none', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const member = await acme.addMember('grace', 'manager')
  for (let i = 0; i < 5; i++) {
    const body = { username: `acme-${i}`, displayName: 'Acme' }
    assert.equal((await member.self.post('/api/organisations', body)).status, 201)
  }
  assertRefused(await setRole(acme.admin, member, 'admin'), 409, 'CONFLICT', /5 organisations/)

  const id = `mb_${'1'.repeat(12)}`
  await service.operator.db.write(async (tx) => {
    const at = Date.now()
    const managed = await insertOwner(tx, {
      kind: 'member',
      username: 'member:tim',
      display_name: 'Tim',
      created_at: at,
      username_skeleton: null,
    })
    const times = { role_since: at, created_at: at, ended_at: null, end_reason: null }
    const row = { id, org_id: acme.id, person_id: managed.id, role: 'manager', source: 'sso' }
    await insertMembership(tx, { ...row, ...times } as never)
  })
  const managed = { ...member, membership: id }
  assertRefused(await setRole(acme.admin, managed, 'admin'), 409, 'CONFLICT', /identity provider/)
  assert.equal((await remove(acme.admin, managed)).status, 200)
})

test('the actions say who did what, also by API key, after they left, for 400 days', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const member = await acme.addMember('grace', 'viewer')
  await setRole(acme.admin, member, 'manager')
  await remove(member, member)
  const read = async (query = '') =>
    jsonOf<MemberActions>(await acme.admin.get(`/api/account/actions${query}`))
  const { actions, next } = await read()
  assert.deepEqual(
    actions.map(({ member: { displayName }, operation, apiKey }) => [
      displayName,
      operation,
      apiKey,
    ]),
    [
      ['Owner grace', 'removeMember', null],
      ['Owner acme-admin', 'changeMember', null],
    ],
  )
  assert.equal(next, null)
  const { db } = service.operator
  const old = Date.now() - 399 * DAY_MS
  await db.write(async (tx) => {
    const action = { org_id: acme.id, membership: acme.admin.membership, operation: 'editAgent' }
    for (let i = 0; i < 110; i++) {
      await insertAction(tx, { ...action, request: `req_${i}`, api_key: 'key', at: old })
    }
    // As if one day had passed twice.
    await tx.db
      .updateTable('member_actions')
      .set({ at: old - 2 * DAY_MS })
      .where('request', '=', 'req_0')
      .execute()
  })
  const pages = [await read()]
  for (let next = pages[0]?.next; next !== null; next = pages.at(-1)?.next as string | null) {
    pages.push(await read(`?before=${next}`))
  }
  assert.deepEqual(
    pages.map((page) => page.actions.length),
    [50, 50, 11],
  )
  assert.equal(pages[0]?.actions[0]?.apiKey, 'key')
})

test('the end of an account ends its memberships, unless it is the last admin of one', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service, 'acme')
  const member = await acme.addMember('grace', 'admin')
  const { db } = service.operator
  const end = () =>
    db.write((tx) => endMembershipsOf(tx, member.ownerId, 'account_deleted', Date.now()))
  const own = await member.self.post('/api/organisations', { username: 'own', displayName: 'Own' })
  assert.equal(own.status, 201)
  await assert.rejects(end, /organisation own without an admin/)
  assert.deepEqual(await rolesIn(acme.admin), { 'acme-admin': 'admin', grace: 'admin' })
  await db.write((tx) =>
    tx.db
      .updateTable('memberships')
      .set({ role: 'viewer' })
      .where('org_id', '!=', acme.id)
      .where('person_id', '=', member.ownerId)
      .execute(),
  )
  await end()
  assert.deepEqual(await rolesIn(acme.admin), { 'acme-admin': 'admin' })
  const [notified = ''] = await notificationsOf(acme.admin, 'member_changed')
  assert.match(notified, /“Owner grace” deleted their account/)
})
