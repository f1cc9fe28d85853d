import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../../../../test/support/answer.ts'
import {
  APPROVALS,
  type ApprovalWorld,
  asked,
  assertionFor,
  newApprovalWorld,
  order,
  progressOf,
} from '../../../../test/support/approvals.ts'
import { newKey } from '../../../../test/support/key.ts'
import { rotateTo } from '../../../../test/support/key-operations.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import { startTestService, type TestService, testEnv } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { signInBy } from '../../../../test/support/sign-in-by.ts'
import { withCookie } from '../../../../test/support/signed-in.ts'
import { accept, offer } from '../agents/transfers/with-transfers.ts'

const BASE_URL = 'https://certificates.example'

test(
  'two nodes decide a request once, and both know what has become of it',
  POSTGRES_ONLY,
  async (t) => {
    const here = await startTestService(t, { BASE_URL })
    const there = await startTestService(t, { ...here.env, PORT: String(await freePort()) })
    const world = await newApprovalWorld(here)
    const { owner, did } = world
    const elsewhere = withCookie(there, owner.ownerId, owner.cookie)
    for (let round = 0; round < 4; round++) {
      const { id } = await asked(world, order(round))
      const response = await assertionFor(world, id)
      const answers = await Promise.all(
        [owner, elsewhere, owner, elsewhere].map((each, i) =>
          i === 3
            ? each.post(`${APPROVALS}/${id}/deny`, { turnOff: false })
            : each.post(`${APPROVALS}/${id}/approve`, { response }),
        ),
      )
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409, 409])
      assert.equal((await progressOf(here, id)).state, (await progressOf(there, id)).state)
      // Two denials in a row would make the agent wait.
      if ((await progressOf(here, id)).state === 'denied') break
    }
    const { id } = await asked(world, order(10))
    const response = await assertionFor(world, id)
    const [answer] = await Promise.all([
      elsewhere.post(`${APPROVALS}/${id}/approve`, { response }),
      setStatus(here, did, 'suspended'),
    ])
    assert.ok([200, 409].includes(answer.status), answer.text)
    for (const node of [here, there]) assert.equal((await progressOf(node, id)).state, 'cancelled')
  },
)

const AGENTS = '/api/account/agents'

/** What ends an approval; the key of the agent was rotated once. */
const CHANGES: Readonly<
  Record<string, (here: TestService, world: ApprovalWorld) => Promise<Answer>>
> = {
  rotation: (here, { did, key }) => rotateTo(here, did, { old: key, next: newKey(), sequence: 3 }),
  contest: (_, { owner, did }) =>
    owner.post(`${AGENTS}/${did}/keys/contest`, { sequence: 1, reason: 'mistake' }),
  suspension: (_, { owner, did }) => owner.post(`${AGENTS}/${did}/suspend`),
  revocation: (_, { owner, did }) => owner.post(`${AGENTS}/${did}/revoke`),
  'turning off': (_, { owner, did }) =>
    owner.send('PUT', `${AGENTS}/${did}/approvals`, { enabled: false }),
  transfer: async (here, { owner, did }) => {
    const to = await here.operator.addVerifiedOwner()
    const sender = await signInBy(here, owner.ownerId, Date.now)
    const id = await offer(sender, [did], await usernameOf(here, to))
    return accept(await signInBy(here, to, Date.now), id)
  },
  deletion: async (here, { owner }) =>
    owner.post('/api/account/deletion', { username: await usernameOf(here, owner.ownerId) }),
}

async function usernameOf({ operator }: TestService, ownerId: number): Promise<string> {
  const row = await operator.db.read
    .selectFrom('owners')
    .select('username')
    .where('id', '=', ownerId)
    .executeTakeFirstOrThrow()
  return row.username as string
}

test(
  'of a change at one node and an approval at the other one is first, and both nodes know it',
  POSTGRES_ONLY,
  async (t) => {
    const env = await testEnv(t, { RECOVERY_DELAY: '0' })
    const url = `http://localhost:${env.PORT}`
    const here = await startTestService(t, { ...env, BASE_URL: url })
    const there = await startTestService(t, { ...here.env, PORT: String(await freePort()) })
    for (const [what, change] of Object.entries(CHANGES)) {
      const first = await newApprovalWorld(here)
      const { owner, did } = first
      const world = { ...first, key: newKey() }
      const rotated = await rotateTo(here, did, { old: first.key, next: world.key, sequence: 2 })
      assert.equal(rotated.status, 200, rotated.text)
      const elsewhere = withCookie(there, owner.ownerId, owner.cookie)
      const { id } = await asked(world)
      const response = await assertionFor(world, id)
      const [approved, changed] = await Promise.all([
        elsewhere.post(`${APPROVALS}/${id}/approve`, { response }),
        change(here, world),
      ])
      assert.equal(changed.status, 200, `${what}: ${changed.text}`)
      assert.ok([200, 401, 404, 409].includes(approved.status), `${what}: ${approved.text}`)
      for (const node of [here, there]) {
        const { state, token } = await progressOf(node, id)
        const expected = what === 'deletion' ? undefined : 'cancelled'
        assert.deepEqual([state, token], [expected, undefined], what)
      }
    }
  },
)
