import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { verifyBody } from '../../../../../test/support/refused-posts.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'

const SHOP = 'https://shop.example'
const NONCE = 'n'.repeat(22)

test('with an audience, only a challenge for it is accepted', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const verify = (challenge: string, audience?: unknown) =>
    post(service, '/api/v1/agent/verify', { ...verifyBody(key, challenge), audience })
  const challenge = `svc-challenge-v1:${SHOP}:${NONCE}`

  for (const audience of [SHOP, undefined]) {
    assert.equal(jsonOf<{ verified: boolean }>(await verify(challenge, audience)).verified, true)
  }
  const foreign = [
    `svc-challenge-v1:https://evil.example:${NONCE}`,
    `svc-challenge-v1:http://shop.example:${NONCE}`,
    `svc-challenge-v1:${SHOP}:8443:${NONCE}`,
    `acme-challenge-v1:${SHOP}:${NONCE}`,
    `SVC-challenge-v1:${SHOP}:${NONCE}`,
    `svc-challenge-v1:${SHOP}:short`,
    `svc-challenge-v1:${SHOP}/:${NONCE}`,
    ` ${challenge}`,
    `${challenge}\n`,
    'any random string',
  ]
  for (const text of foreign) {
    assertRefused(await verify(text, SHOP), 400, 'VALIDATION_ERROR', /not one for https:\/\/shop/)
    assert.equal((await verify(text)).status, 200, 'without an audience, the caller chooses')
  }
  for (const audience of [
    '',
    'shop.example',
    `${SHOP}/`,
    'HTTPS://shop.example',
    null,
    7,
    [SHOP],
  ]) {
    assertRefused(await verify(challenge, audience), 400, 'VALIDATION_ERROR', /audience/)
  }
})
