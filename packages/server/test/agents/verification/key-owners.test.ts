import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  claimBody,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'

const TAKEN = [409, 'KEY_ALREADY_CLAIMED'] as const

/** Asserts that a claim is rejected and writes nothing, and that its token is still valid for another key. */
async function assertTaken(
  service: TestService,
  owner: number,
  [key, label]: readonly [TestKey, string],
  message: RegExp,
): Promise<void> {
  const token = await service.operator.issueToken(owner)
  const claim = (claimed: TestKey) =>
    post(service, '/api/v1/claim', claimBody(token, claimed, label))
  assertRefused(await unchanged(service, () => claim(key)), ...TAKEN, message)
  assert.equal((await claim(newKey())).status, 200, 'the token is burned')
}

async function statusOf(service: TestService, reference: string): Promise<unknown> {
  const answer = await ask(service, `/api/v1/agent/${encodeURIComponent(reference)}`)
  return jsonOf<{ certificate: { status: string } }>(answer).certificate.status
}

test('a key and label pair can be claimed once, by any owner, until it is revoked', async (t) => {
  for (const KEY_REUSE of ['owner', 'any']) {
    await t.test(`KEY_REUSE=${KEY_REUSE}`, async (t) => {
      const service = await startTestService(t, { KEY_REUSE })
      const owner = await service.operator.addVerifiedOwner()
      const another = await service.operator.addVerifiedOwner()
      const key = newKey()
      const first = await claimAgent(service, owner, key, 'main')
      await assertTaken(service, owner, [key, 'main'], /under this agentId/)
      await assertTaken(service, another, [key, 'main'], KEY_REUSE === 'any' ? /under/ : /owner/)
      await setStatus(service, first, 'suspended')
      await assertTaken(service, owner, [key, 'main'], /under this agentId/)

      await setStatus(service, first, 'revoked')
      const second = await claimAgent(service, owner, key, 'main')
      assert.notEqual(second, first)
      assert.equal(await statusOf(service, first), 'revoked', 'the old one stays revoked')
      assert.equal(await statusOf(service, second), 'active')
      await assertTaken(service, owner, [key, 'main'], /under this agentId/)

      await setStatus(service, second, 'revoked')
      const third = await claimAgent(service, another, key, 'main')
      assert.equal(new Set([first, second, third]).size, 3)
    })
  }
})

test('another owner cannot claim a live key under any label until all its certificates are revoked', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const another = await service.operator.addVerifiedOwner()
  const key = newKey()
  const a = await claimAgent(service, owner, key, 'a')
  const b = await claimAgent(service, owner, key, 'b')
  await assertTaken(service, another, [key, 'a'], /Another owner/)
  await assertTaken(service, another, [key, 'c'], /Another owner/)
  await setStatus(service, a, 'revoked')
  await assertTaken(service, another, [key, 'a'], /Another owner/)
  await setStatus(service, b, 'suspended')
  await assertTaken(service, another, [key, 'c'], /Another owner/)
  await setStatus(service, b, 'revoked')
  await claimAgent(service, another, key, 'c')
  await assertTaken(service, owner, [key, 'd'], /Another owner/)
})

test('with KEY_REUSE=any a live key may be claimed by another owner under another label', async (t) => {
  const service = await startTestService(t, { KEY_REUSE: 'any' })
  const key = newKey()
  const first = await claimAgent(service, await service.operator.addVerifiedOwner(), key, 'a')
  const second = await claimAgent(service, await service.operator.addVerifiedOwner(), key, 'b')
  assert.notEqual(first, second)
})

test('repeating a successful claim reports a used token, not a taken key', async (t) => {
  const service = await startTestService(t)
  const token = await service.operator.issueToken(await service.operator.addVerifiedOwner())
  const claim = claimBody(token)
  const send = (): Promise<Answer> => post(service, '/api/v1/claim', claim)
  assert.deepEqual(Object.keys(jsonOf(await send())), ['success', 'message', 'svcDid'])
  assertRefused(await unchanged(service, send), 410, 'TOKEN_EXPIRED', /used/)
})

test('claiming a revoked key again leaves the old DID revoked in every response', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const key = newKey()
  const old = await claimAgent(service, owner, key)
  await setStatus(service, old, 'revoked', 'no_longer_used')
  const before = await ask(service, `/api/agents/${old}`)
  const fresh = await claimAgent(service, owner, key)
  assert.equal((await ask(service, `/api/agents/${old}`)).text, before.text)
  const { status, statusReason } = jsonOf(await ask(service, `/api/agents/${fresh}`))
  assert.deepEqual([status, statusReason], ['active', null])
})
