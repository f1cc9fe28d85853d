import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountExport } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { endMembership } from '../../../src/accounts/organisations/end-membership.ts'
import { insertMembership } from '../../../src/accounts/organisations/membership-table.ts'
import { insertOwner, ownerById } from '../../../src/accounts/owner-table.ts'
import { AGENTS } from '../../agents/manage/with-agent.ts'

const DAY = 86_400_000
const DELETION = '/api/account/deletion'
const EXPORT = '/api/account/export'

const membershipsIn = (service: TestService) =>
  service.operator.db.read.selectFrom('memberships').selectAll().orderBy('id').execute()

/** An account that the identity provider of an organisation manages. */
function addManagedAccount(service: TestService, orgId: number, n: number, at: number) {
  return service.operator.db.write(async (tx) => {
    const { id } = await insertOwner(tx, {
      kind: 'member',
      username: `member:${n}`,
      display_name: 'Managed',
      created_at: at,
      username_skeleton: null,
    })
    const since = { role_since: at, created_at: at, ended_at: null, end_reason: null }
    const membership = { role: 'manager', source: 'sso', ...since } as const
    await insertMembership(tx, { ...membership, id: `mb_${n}`, org_id: orgId, person_id: id })
    return id
  })
}

test('the last admin deletes the account only after the organisation: nothing is revoked before', async (t) => {
  const service = await startTestService(t)
  const { admin } = await createOrganisation(service)
  const did = await claimAgent(service, admin.ownerId, newKey(), 'own')
  const refused = await admin.self.post(DELETION, { username: 'acme-admin' })
  assert.equal(refused.status, 409, refused.text)
  assert.match(refused.text, /acme without an admin/)
  const { status } = jsonOf(await admin.self.get(`${AGENTS}/${did}`))
  assert.equal(status, 'active')

  assert.equal((await admin.post(DELETION, { username: 'acme' })).status, 200)
  const deleted = await admin.self.post(DELETION, { username: 'acme-admin' })
  assert.equal(deleted.status, 200, deleted.text)
})

test('who deletes their account leaves the organisation, which does not know who it was', async (t) => {
  const service = await startTestService(t)
  const organisation = await createOrganisation(service)
  const { admin } = organisation
  await organisation.verify()
  const member = await organisation.addMember('grace', 'manager')
  const issued = await member.post('/api/agents/token', {})
  assert.equal(issued.status, 201, issued.text)
  assert.equal((await member.self.post(DELETION, { username: 'grace' })).status, 200)

  const row = (await membershipsIn(service)).find(({ id }) => id === member.membership)
  assert.deepEqual([row?.person_id, row?.end_reason], [null, 'account_deleted'])
  const { organisation: exported } = jsonOf<AccountExport>(await admin.get(EXPORT))
  assert.deepEqual(
    exported?.members.map(({ id, displayName }) => [id, displayName]),
    [
      [admin.membership, 'Owner acme-admin'],
      [member.membership, null],
    ],
  )
  assert.deepEqual(
    exported?.actions.map((action) => [action.member, action.operation]),
    [[member.membership, 'issueToken']],
  )
})

test('the exports of an organisation and of its member', async (t) => {
  const service = await startTestService(t)
  const organisation = await createOrganisation(service)
  const { admin, id } = organisation
  await organisation.verify()
  const member = await organisation.addMember('grace', 'manager')
  const did = await claimAgent(service, id, newKey(), 'label of acme')
  const invited = await admin.post('/api/account/invitations', {
    username: 'grace-2',
    role: 'viewer',
  })
  assert.equal(invited.status, 201, invited.text)
  const edited = await member.send('PATCH', `${AGENTS}/${did}`, { displayName: 'Desk' })
  assert.equal(edited.status, 200, edited.text)
  await service.operator.db.write(({ db }) =>
    db
      .insertInto('sso_connections')
      .values({
        id: 'connection',
        org_id: id,
        issuer: 'https://login.example',
        client_id: 'client',
        sealed_secret: Buffer.from('sealed-secret'),
        group_claim: 'groups',
        role_map: '{"g-1":"manager"}',
        subject_claim: 'sub',
        created_at: 1,
        updated_at: 1,
      })
      .execute(),
  )

  const ofOrganisation = await admin.get(EXPORT)
  assert.equal(ofOrganisation.status, 200, ofOrganisation.text)
  const all = jsonOf<AccountExport>(ofOrganisation)
  assert.deepEqual(all.owner, { username: 'acme', displayName: 'Acme' })
  assert.deepEqual([all.memberships, all.passkeys, all.sessions], [[], [], []])
  assert.deepEqual(
    all.agents.map((agent) => agent.agentId),
    ['label of acme'],
  )
  const { members, invitations, sso, suspendWithoutResponsibleAfterDays, actions } =
    all.organisation ?? assert.fail()
  assert.deepEqual(
    members.map((each) => [each.displayName, each.role, each.endedAt]),
    [
      ['Owner acme-admin', 'admin', null],
      ['Owner grace', 'manager', null],
    ],
  )
  assert.deepEqual(
    invitations.map((each) => [each.username, each.role, each.invitedBy]),
    [['grace-2', 'viewer', admin.membership]],
  )
  assert.deepEqual(sso?.roleMap, { 'g-1': 'manager' })
  assert.equal(sso?.hasSecret, true)
  assert.equal(suspendWithoutResponsibleAfterDays, 14)
  assert.deepEqual(
    actions.map(({ member: by, operation }) => [by, operation]),
    [
      [admin.membership, 'createInvitation'],
      [member.membership, 'editAgent'],
    ],
  )
  for (const encoding of ['latin1', 'hex', 'base64'] as const) {
    const secret = Buffer.from('sealed-secret').toString(encoding)
    assert.equal(ofOrganisation.text.includes(secret), false)
  }
  assert.equal((await member.get(EXPORT)).status, 403)

  const ofMember = await member.self.get(EXPORT)
  const own = jsonOf<AccountExport>(ofMember)
  assert.equal(own.organisation, null)
  assert.deepEqual(
    own.memberships.map(({ id: membership, organisation: of, role, endedAt, actions: did }) => [
      [membership, of, role, endedAt],
      did.map(({ operation }) => operation),
    ]),
    [[[member.membership, 'acme', 'manager', null], ['editAgent']]],
  )
  for (const foreign of ['acme-admin', 'label of acme', 'grace-2']) {
    assert.equal(ofMember.text.includes(foreign), false, foreign)
  }
})

test('a managed account is erased 30 days after its membership has ended, unless it came back', async (t) => {
  let now = Date.now()
  const service = await startTestService(t, {}, () => now)
  const { id: orgId } = await createOrganisation(service)
  const { db } = service.operator
  const [gone, back] = [
    await addManagedAccount(service, orgId, 1, now),
    await addManagedAccount(service, orgId, 2, now),
  ]
  for (const n of [1, 2]) await db.write((tx) => endMembership(tx, `mb_${n}`, 'no_group', now))
  await db.write((tx) =>
    insertMembership(tx, {
      id: 'mb_again',
      org_id: orgId,
      person_id: back,
      role: 'viewer',
      role_since: now,
      source: 'sso',
      created_at: now,
      ended_at: null,
      end_reason: null,
    }),
  )
  now += 30 * DAY - 60_000
  await untilTicked(service, async () => true)
  assert.ok(await ownerById(db.read, gone), 'not before 30 days')
  now += 120_000
  await untilTicked(service, async () => (await ownerById(db.read, gone)) === undefined)
  assert.ok(await ownerById(db.read, back), 'came back')
  const ended = (await membershipsIn(service)).find(({ id }) => id === 'mb_1')
  assert.deepEqual([ended?.person_id, ended?.end_reason], [null, 'no_group'])
})
