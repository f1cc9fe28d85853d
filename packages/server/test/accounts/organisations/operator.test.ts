import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXIT } from '@countersign/protocol'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import { countersignd, startTestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { INVITATIONS, MEMBERS, notificationsOf, rolesIn } from './with-members.ts'

const HOUR_MS = 3_600_000

test('the operator lists organisations and their members, and removes a member', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const member = await acme.addMember('grace', 'manager')
  const run = (...args: string[]) => countersignd(service.env, 'organisation', ...args)
  const listed = await run('list', '--json')
  const [organisation] = JSON.parse(listed.stdout)
  assert.deepEqual(
    [organisation.username, organisation.members, organisation.admins, organisation.verified],
    ['acme', 2, ['acme-admin'], false],
  )
  assert.match((await run('show', 'acme')).stdout, /mb_\S+ +grace +Owner grace +manager +manual/)
  assert.equal((await run('show', 'grace')).code, EXIT.notFound)
  assert.equal((await run('remove-member', 'acme', 'nobody')).code, EXIT.notFound)
  const last = await run('remove-member', 'acme', 'acme-admin')
  assert.match(last.stderr, /without an admin/)
  assert.equal((await run('remove-member', 'acme', member.membership)).code, EXIT.ok)
  assertRefused(await member.get(MEMBERS), 404, 'NOT_FOUND')
  const [notified = ''] = await notificationsOf(acme.admin, 'member_changed')
  assert.match(notified, /“Owner grace” was removed by the operator/)
})

test('the operator adds an admin after a delay, in which all members know of it and it can be cancelled', async (t) => {
  const clock = { ahead: 0 }
  const service = await startTestService(t, {}, () => Date.now() + clock.ahead)
  const acme = await createOrganisation(service)
  const viewer = await acme.addMember('tim', 'viewer')
  const [grace, mallory] = [
    await service.operator.addVerifiedOwner('grace'),
    await service.operator.addVerifiedOwner('mallory'),
  ]
  const run = (...args: string[]) => countersignd(service.env, 'organisation', ...args)
  for (const person of ['grace', 'mallory', 'tim']) {
    const added = await run('add-admin', 'acme', person)
    assert.equal(added.code, EXIT.ok, added.stderr)
  }
  assert.match((await run('show', 'acme')).stdout, /grace becomes an admin on /)
  assert.equal((await run('add-admin', 'acme', 'mallory', '--cancel')).code, EXIT.ok)
  assert.equal((await run('add-admin', 'acme', 'mallory', '--cancel')).code, EXIT.notFound)
  assert.match((await run('add-admin', 'acme', 'acme-admin')).stderr, /admin of it already/)
  assert.match((await run('add-admin', 'acme', 'acme')).stderr, /Only a person/)
  for (const who of [acme.admin, acme.admin.self, viewer.self, await signIn(service, grace)]) {
    const notified = (await notificationsOf(who, 'member_changed')).join('\n')
    assert.match(notified, /@grace becomes an admin .*contact the operator/)
  }
  clock.ahead = 71 * HOUR_MS
  service.tick()
  const roles = () => rolesIn({ ...acme.admin, membership: '' })
  assert.deepEqual(await roles(), { 'acme-admin': 'admin', tim: 'viewer' })
  clock.ahead = 73 * HOUR_MS
  await untilTicked(service, async () => Object.keys(await roles()).length === 3)
  await untilTicked(service, async () => (await roles()).tim === 'admin')
  assert.deepEqual(await roles(), { 'acme-admin': 'admin', tim: 'admin', grace: 'admin' })
  const later = await signIn(service, grace, Date.now() + clock.ahead)
  const [added = ''] = await notificationsOf(later, 'member_changed')
  assert.match(added, /made you an admin of the organisation “Acme” \(@acme\)/)
  const sessions = await signIn(service, mallory, Date.now() + clock.ahead)
  assertRefused(await sessions.get(`${MEMBERS}?organisation=acme`), 404, 'NOT_FOUND')
})

test('nobody signs in as an organisation; the operator verifies and suspends one', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const run = (...args: string[]) => countersignd(service.env, 'owner', ...args)
  const link = await run('sign-in-link', 'acme')
  assert.deepEqual([link.code, link.stdout], [EXIT.usage, ''])
  assert.match(link.stderr, /acme is an organisation/)
  assert.equal((await run('verify', 'acme', '--provider', 'in-person')).code, EXIT.ok)
  assert.match((await run('list')).stdout, /acme +organisation +Acme +in-person/)
  assert.equal((await run('suspend', 'acme', '--reason', 'under_review')).code, EXIT.ok)
  const body = { username: 'grace', role: 'viewer' }
  const refused = await acme.admin.post(INVITATIONS, body)
  assertRefused(refused, 403, 'FORBIDDEN', /under_review/)
  assert.equal((await acme.admin.get(MEMBERS)).status, 200)
  assert.equal((await acme.admin.self.get('/api/account')).status, 200)
})
