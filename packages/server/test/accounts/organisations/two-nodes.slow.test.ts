import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOrganisation, type Member } from '../../../../../test/support/organisations.ts'
import { freePort } from '../../../../../test/support/ports.ts'
import { POSTGRES_ONLY } from '../../../../../test/support/postgres.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { signIn, withCookie } from '../../../../../test/support/signed-in.ts'
import { accept, INVITATIONS, invite, MEMBERS } from './with-members.ts'

/** The same member at another node. */
function at(node: TestService, { ownerId, cookie }: Member) {
  const self = withCookie(node, ownerId, cookie)
  const send = (method: string, target: string, body?: unknown) =>
    self.send(method, `${target}?organisation=acme`, body)
  return { self, send }
}

test(
  'at two nodes, one of two admins leaves, one of two removes the other, and an invitation is accepted or withdrawn',
  POSTGRES_ONLY,
  async (t) => {
    const PORT = String(await freePort())
    const BASE_URL = `http://localhost:${PORT}`
    const here = await startTestService(t, { PORT, BASE_URL })
    const { DATA_DIR } = here.env as { DATA_DIR: string }
    const there = await startTestService(t, { DATA_DIR, BASE_URL })
    const acme = await createOrganisation(here)
    let [one, two] = [acme.admin, await acme.addMember('other', 'admin')]
    for (let round = 0; round < 8; round++) {
      const [first, second] = [at(here, one), at(there, two)]
      const isMutual = round % 2 === 1
      const answers = await Promise.all([
        first.send('DELETE', `${MEMBERS}/${isMutual ? two.membership : one.membership}`),
        second.send('DELETE', `${MEMBERS}/${isMutual ? one.membership : two.membership}`),
      ])
      const statuses = answers.map(({ status }) => status)
      assert.deepEqual(statuses.toSorted(), [200, isMutual ? 404 : 409])
      const live = await here.operator.db.read
        .selectFrom('memberships')
        .select(['id', 'role'])
        .where('org_id', '=', acme.id)
        .where('ended_at', 'is', null)
        .execute()
      assert.deepEqual(
        live.map(({ role }) => role),
        ['admin'],
      )
      one = live[0]?.id === one.membership ? one : two
      two = await acme.addMember(`admin-${round}`, 'admin')
    }
    for (let round = 0; round < 8; round++) {
      const id = await here.operator.addVerifiedOwner(`grace-${round}`)
      const grace = withCookie(there, id, (await signIn(here, id)).cookie)
      const target = { username: `grace-${round}` }
      const open = await invite(one, target, 'viewer')
      const [accepted, withdrawn] = await Promise.all([
        accept(grace, open, 'viewer'),
        at(here, one).send('DELETE', `${INVITATIONS}/${open}`),
      ])
      const statuses = [accepted.status, withdrawn.status].join()
      assert.ok(statuses === '200,404' || statuses === '404,204', statuses)
    }
  },
)
