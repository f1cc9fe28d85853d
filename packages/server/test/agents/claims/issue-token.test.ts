import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IssuedToken } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { claimBody, postJson, startTestService } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { addOwner } from '../../../src/accounts/owners/add-owner.ts'

test('a verified owner who is signed in gets a token that certifies an agent', async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner())

  const answer = await owner.post('/api/agents/token')

  assert.equal(answer.status, 201)
  const { claimToken, expiresAt, expiresIn } = jsonOf<IssuedToken>(answer)
  assert.deepEqual(Object.keys(jsonOf(answer)).sort(), ['claimToken', 'expiresAt', 'expiresIn'])
  assert.equal(expiresIn, 600)
  const left = Date.parse(expiresAt) - Date.now()
  assert.ok(left > 590_000 && left <= 600_000, `${left}`)
  const claimed = await postJson(`${service.url}/api/v1/claim`, claimBody(claimToken))
  assert.equal(claimed.status, 200)
})

test('without a session no token is issued', async (t) => {
  const service = await startTestService(t)
  assertRefused(await post(service, '/api/agents/token', {}), 401, 'UNAUTHENTICATED')
})

test('an owner without a verified identity gets no token', async (t) => {
  const service = await startTestService(t)
  const { db, pepper } = service.operator
  const { naming } = service.settings
  const { id } = await addOwner(
    { db, naming, pepper, now: Date.now },
    { username: 'ada', displayName: 'A' },
  )
  const owner = await signIn(service, id)
  assertRefused(await owner.post('/api/agents/token'), 403, 'IDENTITY_REQUIRED')
})

test('a token needs a sign-in of the last 12 hours', async (t) => {
  const now = Date.now()
  const service = await startTestService(t, {}, () => now)
  const ownerId = await service.operator.addVerifiedOwner()
  const late = await signIn(service, ownerId, now - 12 * 3_600_000)
  assertRefused(await late.post('/api/agents/token'), 403, 'RECENT_SIGN_IN_REQUIRED', /12 hours/)
  const inTime = await signIn(service, ownerId, now - 12 * 3_600_000 + 1)
  assert.equal((await inTime.post('/api/agents/token')).status, 201)
})
