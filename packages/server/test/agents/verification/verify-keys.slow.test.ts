import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { assertVerificationsRefused } from '../../../../../test/support/refused-posts.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { readCases } from '../../../../../test/support/vector-files.ts'

const FORGED = { status: 401, code: 'INVALID_SIGNATURE' } as const

/** A key, a message and a signature in the encoding of the vectors. */
interface Signed {
  readonly publicKeyHex: string
  readonly messageHex: string
  readonly signatureHex: string
}

test('a key that is not on the curve or of mixed order verifies nothing that it did not sign', async (t) => {
  const faulty = readCases<{ hex: string; fault: string }>('public-keys.json', 'faulty')
  const others = faulty.filter(({ fault }) => ['not-on-curve', 'mixed-order'].includes(fault))
  await assertVerificationsRefused(
    t,
    others.map(({ name, hex }) => ({
      name,
      change: (good) => ({ ...good, publicKey: base64(hex) }),
      ...FORGED,
    })),
  )
})

test('a signature by another key, or on another challenge, is rejected', async (t) => {
  await assertVerificationsRefused(t, [
    {
      name: 'another key',
      change: (good) => ({ ...good, signature: newKey().sign(good.challenge) }),
      ...FORGED,
    },
    ...['', ' ', 'A challenge', 'a challenge\n', 'a challenge ', '\ufeffa challenge'].map(
      (signed) => ({
        name: JSON.stringify(signed),
        change: (good: object, key: { sign(text: string): string }) => ({
          ...good,
          signature: key.sign(signed),
        }),
        ...FORGED,
      }),
    ),
    {
      name: 'the composed spelling signed for the decomposed',
      change: (good, key) => ({ ...good, challenge: 'e\u0301', signature: key.sign('\u00e9') }),
      ...FORGED,
    },
  ])
})

test('the invalid signatures of the vectors are rejected; keys that only a claim checks are unknown', async (t) => {
  const service = await startTestService(t)
  for (const { name, why = '', ...signed } of readCases<Signed>('signatures.json', 'invalid')) {
    await t.test(`${name}: ${why}`, async () => {
      const body = bodyOf(signed)
      const answer = await unchanged(service, () => post(service, '/api/v1/agent/verify', body))
      if (/small.order key|^non-canonical key|^a signature has 64 bytes/.test(why)) {
        assertRefused(answer, 400, 'VALIDATION_ERROR')
      } else if (/refused at the claim/.test(why)) assertRefused(answer, 404, 'NOT_FOUND')
      else assertRefused(answer, 401, 'INVALID_SIGNATURE')
    })
  }
})

test('the valid signatures of the vectors pass, and only their keys are unknown', async (t) => {
  const service = await startTestService(t)
  // The empty message and invalid UTF-8 cannot be challenges.
  const challenges = readCases<Signed>('signatures.json', 'valid').filter(
    ({ messageHex }) => isUtf8(Buffer.from(messageHex, 'hex')) && messageHex !== '',
  )
  assert.ok(challenges.length > 0)
  for (const { name, ...signed } of challenges) {
    await t.test(name, async () => {
      const answer = await post(service, '/api/v1/agent/verify', bodyOf(signed))
      assertRefused(answer, 404, 'NOT_FOUND')
    })
  }
})

function bodyOf({ publicKeyHex, messageHex, signatureHex }: Signed) {
  return {
    publicKey: base64(publicKeyHex),
    challenge: Buffer.from(messageHex, 'hex').toString('utf8'),
    signature: base64(signatureHex),
  }
}

function base64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64')
}
