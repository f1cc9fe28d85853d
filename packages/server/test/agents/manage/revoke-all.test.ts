import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { AGENTS, editAgent, listAgents, newOwner, showAgent } from './with-agent.ts'

const MINUTES_11 = 11 * 60_000

test("all agents of the owner are revoked, each with its event, and no other owner's", async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  const stranger = await newOwner(service)
  const dids: string[] = []
  for (let i = 0; i < 5; i++) {
    dids.push(await claimAgent(service, owner.ownerId, newKey(), `agent-${i}`))
  }
  const theirs = await claimAgent(service, stranger.ownerId)
  const [suspended, revoked] = dids as [string, string]
  await editAgent(owner, suspended, { username: 'wanderer' })
  await owner.post(`${AGENTS}/${suspended}/suspend`)
  await owner.post(`${AGENTS}/${revoked}/revoke`, { reason: 'earlier' })

  const answer = await owner.post(`${AGENTS}/revoke-all`, { username: 'ada', reason: 'stolen' })

  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(jsonOf(answer), { revokedAgents: 4 })
  assert.deepEqual((await listAgents(owner)).counts, { active: 0, suspended: 0, revoked: 5 })
  for (const did of dids) {
    const lookup = jsonOf(await owner.get(`/api/v1/agent/${did}`))
    assert.equal(lookup.verified, false)
    const { statusReason } = await showAgent(owner, did)
    assert.equal(statusReason, did === revoked ? 'earlier' : 'stolen')
    const { events } = jsonOf<{ events: { type: string }[] }>(
      await owner.get(`${AGENTS}/${did}/history`),
    )
    assert.equal(events.filter(({ type }) => type === 'agent.revoked').length, 1)
  }
  assert.equal((await showAgent(stranger, theirs)).status, 'active')
  const again = await unchanged(service, () =>
    owner.post(`${AGENTS}/revoke-all`, { username: 'ada' }),
  )
  assert.deepEqual(jsonOf(again), { revokedAgents: 0 })
})

test("it needs the owner's username and a recent sign-in", async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service, 'ada')
  await newOwner(service, 'grace')
  await claimAgent(service, owner.ownerId)
  const refused: [object, RegExp][] = [
    [{ username: 'grace' }, /your own username/],
    [{ username: 'nobody' }, /your own username/],
    [{}, /username/],
    [{ username: 'ada', reason: 'Two words' }, /reason/],
    [{ username: 'ada', agents: [] }, /unknown field/],
  ]
  for (const [body, message] of refused) {
    const answer = await unchanged(service, () => owner.post(`${AGENTS}/revoke-all`, body))
    assertRefused(answer, 400, 'VALIDATION_ERROR', message)
  }
  const earlier = await signIn(service, owner.ownerId, Date.now() - MINUTES_11)
  assert.equal((await earlier.get(AGENTS)).status, 200, 'signed in, and seen')
  const answer = await unchanged(service, () =>
    earlier.post(`${AGENTS}/revoke-all`, { username: 'ada' }),
  )
  assertRefused(answer, 403, 'RECENT_SIGN_IN_REQUIRED')
})
