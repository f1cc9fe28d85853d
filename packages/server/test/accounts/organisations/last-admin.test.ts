import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import {
  createOrganisation,
  type Member,
  type TestOrganisation,
} from '../../../../../test/support/organisations.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { accept, INVITATIONS, invite, remove, rolesIn, setRole } from './with-members.ts'

test('the last admin neither leaves nor becomes less, until there is another one', async (t) => {
  const service = await startTestService(t)
  const { admin, addMember } = await createOrganisation(service)
  const member = await addMember('grace', 'manager')
  assertRefused(await remove(admin, admin), 409, 'CONFLICT', /organisation acme without an admin/)
  assertRefused(await setRole(admin, admin, 'manager'), 409, 'CONFLICT', /without an admin/)
  assert.deepEqual(await rolesIn(admin), { 'acme-admin': 'admin', grace: 'manager' })
  assert.equal((await setRole(admin, member, 'admin')).status, 200)
  assert.equal((await remove(admin, admin)).status, 200)
  assert.deepEqual(await rolesIn(member), { grace: 'admin' })
})

async function withTwoAdmins(
  service: TestService,
  name: string,
): Promise<TestOrganisation & { readonly other: Member }> {
  const acme = await createOrganisation(service, name)
  return { ...acme, other: await acme.addMember(`${name}-other`, 'admin') }
}

/** What two admins do at once, and how the one who comes too late is refused. */
const AT_ONCE: readonly {
  readonly what: string
  readonly run: (one: Member, other: Member) => [Promise<Answer>, Promise<Answer>]
  readonly refusal: number
}[] = [
  { what: 'leave', run: (one, other) => [remove(one, one), remove(other, other)], refusal: 409 },
  {
    what: 'demote themselves',
    run: (one, other) => [setRole(one, one, 'viewer'), setRole(other, other, 'manager')],
    refusal: 409,
  },
  {
    what: 'leave and demote themselves',
    run: (one, other) => [remove(one, one), setRole(other, other, 'responder')],
    refusal: 409,
  },
  // Who was removed or demoted first can no longer do it to the other.
  {
    what: 'remove each other',
    run: (one, other) => [remove(one, other), remove(other, one)],
    refusal: 404,
  },
  {
    what: 'demote each other',
    run: (one, other) => [setRole(one, other, 'viewer'), setRole(other, one, 'viewer')],
    refusal: 403,
  },
]

test('of two admins who remove each other, leave or demote at once, one succeeds', async (t) => {
  const service = await startTestService(t)
  for (const [i, { what, run, refusal }] of AT_ONCE.entries()) {
    for (let round = 0; round < 3; round++) {
      const { admin, other } = await withTwoAdmins(service, `acme-${i}-${round}`)
      const statuses = (await Promise.all(run(admin, other))).map(({ status }) => status)
      assert.deepEqual(statuses.toSorted(), [200, refusal], what)
      const roles = await rolesThatRemain(service, [admin, other])
      assert.equal(roles.filter((role) => role === 'admin').length, 1, what)
    }
  }
})

async function rolesThatRemain(
  { operator }: TestService,
  members: readonly Member[],
): Promise<string[]> {
  const rows = await operator.db.read
    .selectFrom('memberships')
    .select('role')
    .where(
      'id',
      'in',
      members.map(({ membership }) => membership),
    )
    .where('ended_at', 'is', null)
    .execute()
  return rows.map(({ role }) => role)
}

async function invited(t: TestContext) {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const grace = await signIn(service, await service.operator.addVerifiedOwner('grace'))
  const id = await invite(acme.admin, { username: 'grace' }, 'viewer')
  return { service, acme, grace, id }
}

test('an invitation that is accepted twice at once makes one member', async (t) => {
  const { service, acme, grace, id } = await invited(t)
  const answers = await Promise.all(Array.from({ length: 8 }, () => accept(grace, id, 'viewer')))
  const statuses = answers.map(({ status }) => status).toSorted()
  assert.deepEqual(statuses, [200, ...Array.from({ length: 7 }, () => 404)])
  const rows = await service.operator.db.read
    .selectFrom('memberships')
    .select('id')
    .where('org_id', '=', acme.id)
    .where('person_id', '=', grace.ownerId)
    .execute()
  assert.equal(rows.length, 1)
})

test('an invitation that is accepted while it is withdrawn is one or the other', async (t) => {
  const { acme, grace, id } = await invited(t)
  for (let round = 0, open = id; round < 6; round++) {
    const [accepted, withdrawn] = await Promise.all([
      accept(grace, open, 'viewer'),
      acme.admin.send('DELETE', `${INVITATIONS}/${open}`),
    ])
    const statuses = [accepted.status, withdrawn.status].join()
    assert.ok(statuses === '200,404' || statuses === '404,204', statuses)
    const roles = await rolesIn(acme.admin)
    assert.equal(roles.grace, accepted.status === 200 ? 'viewer' : undefined)
    if (accepted.status === 200) {
      const { members } = jsonOf<{ members: { id: string; you: boolean }[] }>(
        await acme.admin.get('/api/account/members'),
      )
      const membership = members.find(({ you }) => !you)?.id as string
      const member = { ...acme.admin, membership }
      assert.equal((await remove(acme.admin, member)).status, 200)
    }
    open = await invite(acme.admin, { username: 'grace' }, 'viewer')
  }
})
