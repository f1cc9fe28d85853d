import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Invitations, OwnInvitations, SessionState } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { insertAddress } from '../../../src/accounts/notifications/email-address-table.ts'
import {
  accept,
  INVITATIONS,
  invitationsTo,
  invite,
  notificationsOf,
  remove,
  rolesIn,
  setRole,
} from './with-members.ts'

const DAY_MS = 86_400_000

async function newPerson(service: TestService, username: string): Promise<SignedInOwner> {
  return signIn(service, await service.operator.addVerifiedOwner(username))
}

async function addAddress(
  { operator }: TestService,
  { ownerId }: SignedInOwner,
  address: string,
  isVerified = true,
): Promise<void> {
  const at = Date.now()
  const row = { id: `${ownerId}-${address}`, owner_id: ownerId, address, added_at: at }
  const verified_at = isVerified ? at : null
  const token = { token_hash: null, token_expires_at: null }
  await operator.db.write((tx) => insertAddress(tx, { ...row, verified_at, ...token }))
}

test('an invitation by username is offered to that account, which accepts it once', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const [grace, mallory] = [await newPerson(service, 'grace'), await newPerson(service, 'mallory')]
  const id = await invite(acme.admin, { username: 'grace' }, 'manager')
  assert.deepEqual(await invitationsTo(mallory), [])
  assertRefused(await accept(mallory, id, 'manager'), 404, 'NOT_FOUND')
  assertRefused(await mallory.post(`/api/invitations/${id}/decline`), 404, 'NOT_FOUND')
  const { invitations } = jsonOf<OwnInvitations>(await grace.get('/api/invitations'))
  assert.deepEqual(
    invitations.map(({ expiresAt: _time, ...shown }) => shown),
    [
      {
        id,
        organisation: { username: 'acme', displayName: 'Acme', verified: false, domain: null },
        role: 'manager',
        invitedBy: 'Owner acme-admin',
      },
    ],
  )
  assert.equal(jsonOf<SessionState>(await grace.get('/api/session')).invitations, 1)
  await untilTicked(service, async () => (await notificationsOf(grace, 'invitation')).length === 1)
  const [notified = ''] = await notificationsOf(grace, 'invitation')
  assert.match(notified, /“Owner acme-admin” invites you to the organisation “Acme” \(@acme\)/)

  const accepted = await accept(grace, id, 'manager')
  assert.deepEqual(jsonOf(accepted), { username: 'acme', displayName: 'Acme', role: 'manager' })
  assertRefused(await accept(grace, id, 'manager'), 404, 'NOT_FOUND')
  assert.equal(jsonOf<SessionState>(await grace.get('/api/session')).invitations, 0)
  assert.deepEqual(await rolesIn(acme.admin), { 'acme-admin': 'admin', grace: 'manager' })
  const [joined = ''] = await notificationsOf(acme.admin, 'member_changed')
  assert.match(joined, /“Owner grace” has the role manager/)
  const actions = jsonOf<{ actions: { operation: string }[] }>(
    await acme.admin.get('/api/account/actions'),
  )
  assert.equal(actions.actions[0]?.operation, 'acceptInvitation')
})

test('an invitation to an address is open to accounts that have verified it, in any case of letters', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const [grace, mallory] = [await newPerson(service, 'grace'), await newPerson(service, 'mallory')]
  await addAddress(service, grace, 'Grace@Mail.example')
  await addAddress(service, mallory, 'grace@mail.example', false)
  const target = { email: 'grace@MAIL.example' }
  const body = { ...target, role: 'viewer' }
  assertRefused(await acme.admin.post(INVITATIONS, body), 403, 'IDENTITY_REQUIRED')
  await acme.verify()
  const id = await invite(acme.admin, target, 'viewer')
  assert.deepEqual(await invitationsTo(mallory), [])
  assertRefused(await accept(mallory, id, 'viewer'), 404, 'NOT_FOUND')
  assert.equal((await accept(grace, id, 'viewer')).status, 200)
})

test('without e-mail, an organisation invites by username only', async (t) => {
  const service = await startTestService(t, { BASE_URL: 'https://id.example' })
  const acme = await createOrganisation(service)
  await acme.verify()
  const body = { email: 'grace@mail.example', role: 'viewer' }
  const refused = await acme.admin.post(INVITATIONS, body)
  assert.equal(refused.status, 503, refused.text)
})

test('the answer does not say whether there is such an account', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  await acme.verify()
  const grace = await newPerson(service, 'grace')
  await addAddress(service, grace, 'grace@mail.example')
  const shape = async (target: object) => {
    const answer = await acme.admin.post(INVITATIONS, { ...target, role: 'viewer' })
    const { id, expiresAt, ...further } = jsonOf<Record<string, string>>(answer)
    assert.deepEqual(further, {})
    return [answer.status, id?.length, expiresAt?.length, answer.headers.get('content-length')]
  }
  const usernames = [await shape({ username: 'grace' }), await shape({ username: 'nobody' })]
  assert.deepEqual(usernames[0], usernames[1])
  const addresses = [
    await shape({ email: 'grace@mail.example' }),
    await shape({ email: 'nobod@mail.example' }),
  ]
  assert.deepEqual(addresses[0], addresses[1])
  // The transaction of the answer has looked at no account.
  const { invitations } = jsonOf<Invitations>(await acme.admin.get(INVITATIONS))
  assert.equal(invitations.length, 4)
})

test('an invitation needs exactly one valid target, an admin, and a recent sign-in', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const manager = await acme.addMember('grace', 'manager')
  for (const target of [{}, { email: 'a@b.example', username: 'tim' }, { email: 'tim' }]) {
    const body = { ...target, role: 'viewer' }
    assertRefused(await acme.admin.post(INVITATIONS, body), 400, 'VALIDATION_ERROR')
  }
  const body = { username: 'tim', role: 'viewer' }
  assertRefused(await manager.post(INVITATIONS, body), 403, 'FORBIDDEN')
  const old = await signIn(service, acme.admin.ownerId, Date.now() - 11 * 60_000)
  const late = await old.post(`${INVITATIONS}?organisation=acme`, body)
  assertRefused(late, 403, 'RECENT_SIGN_IN_REQUIRED')
  const member = { username: 'grace', role: 'viewer' }
  assertRefused(await acme.admin.post(INVITATIONS, member), 409, 'CONFLICT', /member already/)
})

test('another role than shown is refused, and a second invitation replaces the first', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const grace = await newPerson(service, 'grace')
  const first = await invite(acme.admin, { username: 'grace' }, 'viewer')
  assertRefused(await accept(grace, first, 'admin'), 409, 'CONFLICT')
  const second = await invite(acme.admin, { username: 'grace' }, 'admin')
  assert.deepEqual(await invitationsTo(grace), [second])
  assertRefused(await accept(grace, first, 'viewer'), 404, 'NOT_FOUND')
  assertRefused(await accept(grace, second, 'viewer'), 409, 'CONFLICT', /role admin/)
  assert.equal((await accept(grace, second, 'admin')).status, 200)
})

test('an invitation ends if it is declined or withdrawn, or its sender is suspended or no longer an admin', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const admin = await acme.addMember('tim', 'admin')
  const grace = await newPerson(service, 'grace')
  const { db } = service.operator
  const suspend = (id: number, suspended_at: number | null) =>
    db.write((tx) =>
      tx.db.updateTable('owners').set({ suspended_at }).where('id', '=', id).execute(),
    )
  const invited = (by = acme.admin) => invite(by, { username: 'grace' }, 'viewer')

  const declined = await invited()
  assert.equal((await grace.post(`/api/invitations/${declined}/decline`)).status, 204)
  const withdrawn = await invited()
  const other = await createOrganisation(service, 'other')
  const path = `${INVITATIONS}/${withdrawn}`
  assertRefused(await other.admin.send('DELETE', path), 404, 'NOT_FOUND')
  assert.equal((await acme.admin.send('DELETE', path)).status, 204)
  assertRefused(await acme.admin.send('DELETE', path), 404, 'NOT_FOUND')
  for (const ended of [declined, withdrawn]) {
    assertRefused(await accept(grace, ended, 'viewer'), 404, 'NOT_FOUND')
  }
  const open = await invited(admin)
  for (const id of [acme.id, admin.ownerId]) {
    await suspend(id, Date.now())
    assertRefused(await accept(grace, open, 'viewer'), 404, 'NOT_FOUND')
    await suspend(id, null)
  }
  await suspend(grace.ownerId, Date.now())
  assertRefused(await accept(grace, open, 'viewer'), 403, 'FORBIDDEN')
  await suspend(grace.ownerId, null)
  assert.equal((await setRole(acme.admin, admin, 'manager')).status, 200)
  assertRefused(await accept(grace, open, 'viewer'), 404, 'NOT_FOUND')
  assert.equal((await setRole(acme.admin, admin, 'admin')).status, 200)
  assertRefused(await accept(grace, open, 'viewer'), 404, 'NOT_FOUND')
  const again = await invited(admin)
  assert.equal((await remove(acme.admin, admin)).status, 200)
  assertRefused(await accept(grace, again, 'viewer'), 404, 'NOT_FOUND')
})

test('an invitation is open for 7 days', async (t) => {
  const clock = { ahead: 0 }
  const service = await startTestService(t, {}, () => Date.now() + clock.ahead)
  const acme = await createOrganisation(service)
  const grace = await newPerson(service, 'grace')
  const id = await invite(acme.admin, { username: 'grace' }, 'viewer')
  clock.ahead = 7 * DAY_MS - 60_000
  const later = await signIn(service, grace.ownerId, Date.now() + clock.ahead)
  assert.deepEqual(await invitationsTo(later), [id])
  clock.ahead = 7 * DAY_MS + 60_000
  assert.deepEqual(await invitationsTo(later), [])
  assertRefused(await accept(later, id, 'viewer'), 404, 'NOT_FOUND')
})

test('nobody gets an invitation by taking a username afterwards', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const renamed = await newPerson(service, 'mallory')
  const id = await invite(acme.admin, { username: 'grace' }, 'admin')
  assert.equal((await renamed.send('PATCH', '/api/account', { username: 'grace' })).status, 200)
  assert.deepEqual(await invitationsTo(renamed), [])
  assertRefused(await accept(renamed, id, 'admin'), 404, 'NOT_FOUND')
  const second = await invite(acme.admin, { username: 'newcomer' }, 'admin')
  const created = await newPerson(service, 'newcomer')
  assertRefused(await accept(created, second, 'admin'), 404, 'NOT_FOUND')
})

test('an organisation has at most 100 open invitations, and sends 20 a day', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  await invite(acme.admin, { username: 'person-7' }, 'viewer')
  await service.operator.db.write(async (tx) => {
    const [row] = await tx.db.selectFrom('invitations').selectAll().execute()
    for (let i = 0; i < 99; i++) {
      const other = { id: `other-${i}`, username: `other-${i}` }
      await tx.db
        .insertInto('invitations')
        .values({ ...(row as NonNullable<typeof row>), ...other })
        .execute()
    }
  })
  const more = { username: 'one-more', role: 'viewer' }
  assertRefused(await acme.admin.post(INVITATIONS, more), 409, 'CONFLICT', /100/)
  await invite(acme.admin, { username: 'person-7' }, 'manager')

  const limited = await startTestService(t, { RATE_LIMITS: '' })
  const other = await createOrganisation(limited, 'other')
  const stranger = await createOrganisation(limited, 'stranger')
  for (let i = 0; i < 30; i++) {
    const path = `${INVITATIONS}?organisation=other`
    const foreign = await stranger.admin.self.post(path, { username: 'tim', role: 'viewer' })
    assertRefused(foreign, 404, 'NOT_FOUND')
  }
  for (let i = 0; i < 20; i++) await invite(other.admin, { username: 'tim' }, 'viewer')
  const refused = await other.admin.post(INVITATIONS, more)
  assertRefused(refused, 429, 'RATE_LIMITED', /too many invitations/)
  assert.ok(Number(refused.headers.get('retry-after')) > 60)
  await invite(stranger.admin, { username: 'tim' }, 'viewer')
})

test('an organisation has at most 500 members', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const grace = await newPerson(service, 'grace')
  const id = await invite(acme.admin, { username: 'grace' }, 'viewer')
  const { db } = service.operator
  await db.write(async (tx) => {
    const letters = 'abcdefghijkmnopqrstuvwxyz'
    for (let i = 0; i < 499; i++) {
      const name = `m-${i}`
      const owner = {
        id: 1000 + i,
        username: name,
        display_name: name,
        created_at: 1,
        kind: 'person',
      }
      await tx.db
        .insertInto('owners')
        .values(owner as never)
        .execute()
      const [high = 'a', low = 'a'] = [letters[Math.floor(i / 25)], letters[i % 25]]
      const row = { org_id: acme.id, person_id: 1000 + i, role: 'viewer', role_since: 1 }
      const membership = { ...row, id: `mb_${high}${low}${'1'.repeat(10)}`, source: 'manual' }
      await tx.db
        .insertInto('memberships')
        .values({ ...membership, created_at: 1, ended_at: null, end_reason: null } as never)
        .execute()
    }
  })
  assertRefused(await accept(grace, id, 'viewer'), 409, 'CONFLICT', /500 members/)
  await db.write((tx) =>
    tx.db
      .updateTable('memberships')
      .set({ ended_at: 2 })
      .where('id', '=', `mb_aa${'1'.repeat(10)}`)
      .execute(),
  )
  assert.equal((await accept(grace, id, 'viewer')).status, 200)
})
