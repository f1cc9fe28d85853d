import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonOf } from '../../../../test/support/answer.ts'
import { newKey } from '../../../../test/support/key.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import { startTestService, testEnv } from '../../../../test/support/service.ts'
import { TestClock } from '../../../../test/support/sign-in-by.ts'
import { type SignedInOwner, withCookie } from '../../../../test/support/signed-in.ts'
import { until } from '../../../../test/support/until.ts'
import {
  AGENTS,
  accept,
  offer,
  stateOf,
  TRANSFERS,
  TransferWorld,
} from '../agents/transfers/with-transfers.ts'

const ROUNDS = 4

test(
  'a transfer is accepted at one of two nodes, and either takes effect or is cancelled or failed, at both',
  POSTGRES_ONLY,
  async (t) => {
    const env = await testEnv(t)
    const BASE_URL = `http://localhost:${env.PORT}`
    const clock = new TestClock()
    const here = new TransferWorld(
      await startTestService(t, { ...env, BASE_URL }, clock.now),
      clock,
    )
    const shared = { DATA_DIR: env.DATA_DIR as string, BASE_URL }
    const there = await startTestService(t, shared, clock.now)
    const people = [await here.person('ada'), await here.person('grace')] as const
    const atOther = (owner: SignedInOwner) => withCookie(there, owner.ownerId, owner.cookie)
    const expected = { taken: 0, kept: 0 }
    for (let round = 0; round < ROUNDS; round++) {
      const ada = await here.signInBy(people[0].ownerId)
      const grace = await here.signInBy(people[1].ownerId)
      const did = await here.claim(ada.ownerId, newKey(), `agent ${round}`)
      const id = await offer(ada, [did], 'grace')
      const answers = await Promise.all(
        [grace, atOther(grace), grace, atOther(grace)].map((owner) => accept(owner, id)),
      )
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
      assert.deepEqual(statuses, [200, 409, 409, 409])

      // Both nodes run the job, while the sender cancels, or revokes the agent, at one of them.
      clock.advance(73)
      const sender = atOther(await here.signInBy(people[0].ownerId))
      const isCancelled = round % 2 === 0
      const path = isCancelled ? `${TRANSFERS}/${id}/cancel` : `${AGENTS}/${did}/revoke`
      here.service.tick()
      there.tick()
      const { status } = await sender.post(path)
      await until(async () => {
        here.service.tick()
        there.tick()
        return (await stateOf(sender))[0] !== 'accepted'
      })
      const [state] = await stateOf(sender)
      const { owner_id } = await here.agent(did)
      if (status === 200) {
        assert.equal(state, isCancelled ? 'cancelled' : 'failed')
        assert.equal(owner_id, people[0].ownerId)
        expected.kept += 1
      } else {
        assert.equal(status, isCancelled ? 409 : 404)
        assert.equal(state, 'done')
        assert.equal(owner_id, people[1].ownerId)
        expected.taken += 1
        for (const service of [here.service, there]) {
          const owner = withCookie(
            service,
            grace.ownerId,
            (await here.signInBy(grace.ownerId)).cookie,
          )
          assert.equal(jsonOf(await owner.get(`${AGENTS}/${did}`)).agentId, `agent ${round}`)
        }
      }
    }
    assert.equal(expected.kept + expected.taken, ROUNDS)
  },
)
