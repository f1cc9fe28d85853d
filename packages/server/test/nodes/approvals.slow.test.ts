import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  APPROVALS,
  asked,
  assertionFor,
  newApprovalWorld,
  order,
  progressOf,
} from '../../../../test/support/approvals.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { withCookie } from '../../../../test/support/signed-in.ts'

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
