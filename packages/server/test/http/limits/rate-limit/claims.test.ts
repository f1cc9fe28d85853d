import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../../../test/support/answer.ts'
import { ask } from '../../../../../../test/support/ask.ts'
import { newKey } from '../../../../../../test/support/key.ts'
import { claimAgent, claimBody, startTestService } from '../../../../../../test/support/service.ts'
import {
  assertLimited,
  BEHIND_PROXY,
  claimFrom,
  failToClaim,
  LIMITED,
  leftOf,
  policiesOf,
} from './support.ts'

test('after ten failed claims from one address, for whatever reason, every claim gets 429 unprocessed', async (t) => {
  const service = await startTestService(t, LIMITED)
  const owner = await service.operator.addVerifiedOwner()
  const good = claimBody(await service.operator.issueToken(owner))
  const badlySigned = { ...good, signature: newKey().sign('x') }
  for (let i = 0; i < 5; i++) {
    const unknown = await failToClaim(service)
    assertRefused(unknown, 404, 'NOT_FOUND')
    assert.equal(leftOf(unknown).get('failed-claims')?.get('r'), 9 - 2 * i)
    assertRefused(await claimFrom(service, badlySigned), 401, 'INVALID_SIGNATURE')
  }
  for (const body of [good, badlySigned]) {
    const answer = await claimFrom(service, body)
    assertLimited(answer, 'failed-claims')
    assert.deepEqual(
      [...(policiesOf(answer).get('failed-claims') ?? [])],
      [
        ['q', 10],
        ['w', 3600],
      ],
    )
    assert.ok(Number(answer.headers.get('retry-after')) <= 360, 'the quota refills evenly')
  }
  const { status } = await ask(service, '/api/v1/agent/verify', { method: 'OPTIONS' })
  assert.equal(status, 204)
})

test('a quota refills as time passes', async (t) => {
  let now = Date.now()
  const service = await startTestService(t, { PREVIEWS: 'rate-limit' }, () => now)
  for (let i = 0; i < 10; i++) assert.equal((await failToClaim(service)).status, 404)
  assertLimited(await failToClaim(service), 'failed-claims')
  now += 5_900
  assertLimited(await failToClaim(service), 'failed-claims')
  now += 200
  assert.equal((await failToClaim(service)).status, 404)
  assertLimited(await failToClaim(service), 'failed-claims')
  now += 120_000
  for (let i = 0; i < 10; i++) assert.equal((await failToClaim(service)).status, 404)
  assertLimited(await failToClaim(service), 'failed-claims')
})

test('successful, malformed and expired claims do not count as failures', async (t) => {
  const service = await startTestService(t, { ...LIMITED, RATE_LIMITS: 'failed-claims=2/h' })
  const owner = await service.operator.addVerifiedOwner()
  for (let i = 0; i < 12; i++) await claimAgent(service, owner, newKey())
  const used = claimBody(await service.operator.issueToken(owner))
  assert.equal((await claimFrom(service, used)).status, 200)
  for (let i = 0; i < 4; i++) {
    assertRefused(await claimFrom(service, used), 410, 'TOKEN_EXPIRED')
    assertRefused(await claimFrom(service, {}), 400, 'VALIDATION_ERROR')
  }
  assert.equal((await failToClaim(service)).status, 404)
})

test('failures from one address do not limit another', async (t) => {
  const service = await startTestService(t, BEHIND_PROXY)
  const owner = await service.operator.addVerifiedOwner()
  for (let i = 0; i < 11; i++) await failToClaim(service, '203.0.113.7')
  const good = claimBody(await service.operator.issueToken(owner))
  assertLimited(await claimFrom(service, good, '203.0.113.7'), 'failed-claims')
  assert.equal((await claimFrom(service, good, '203.0.113.8')).status, 200)
})

test('after ten wrong signatures for one token its claims get 429, from however many addresses', async (t) => {
  const service = await startTestService(t, BEHIND_PROXY)
  const owner = await service.operator.addVerifiedOwner()
  const good = claimBody(await service.operator.issueToken(owner))
  const other = claimBody(
    await service.operator.issueToken(await service.operator.addVerifiedOwner()),
  )
  const badlySigned = { ...good, signature: newKey().sign('x') }
  for (let i = 0; i < 10; i++) {
    assert.equal((await claimFrom(service, badlySigned, `203.0.113.${i}`)).status, 401)
  }
  assertLimited(await claimFrom(service, badlySigned, '203.0.113.99'), 'failed-claims-token')
  assert.equal((await claimFrom(service, other, '203.0.113.99')).status, 200)
})
