import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ClaimToken, ErrorCode } from '@countersign/protocol'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  claimBody,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { hashToken } from '../../../src/base/hash-token.ts'

const TEN_MINUTES = 10 * 60 * 1000

interface BadToken {
  /** @returns a token that cannot be redeemed */
  make(service: TestService, owner: number): Promise<string>
  readonly status: number
  readonly code: ErrorCode
  readonly message: RegExp
}

const BAD_TOKENS: Readonly<Record<string, BadToken>> = {
  'a well-formed token that was never issued': {
    make: async () => 'svc-verify-00112233445566778899aabbccddeeff',
    status: 404,
    code: 'NOT_FOUND',
    message: /never issued/,
  },
  'a used token': {
    async make(service, owner) {
      const token = await service.operator.issueToken(owner)
      assert.equal((await post(service, '/api/v1/claim', claimBody(token))).status, 200)
      return token
    },
    status: 410,
    code: 'TOKEN_EXPIRED',
    message: /used/,
  },
  'a token that a newer one has replaced': {
    async make(service, owner) {
      const token = await service.operator.issueToken(owner)
      await service.operator.issueToken(owner)
      return token
    },
    status: 410,
    code: 'TOKEN_EXPIRED',
    message: /newer/,
  },
  'a token whose ten minutes are over': {
    async make(service, owner) {
      const token = await service.operator.issueToken(owner)
      await moveExpiry(service, token, Date.now())
      return token
    },
    status: 410,
    code: 'TOKEN_EXPIRED',
    message: /expired/,
  },
  'a used token whose ten minutes are over as well': {
    async make(service, owner) {
      const token = await BAD_TOKENS['a used token']?.make(service, owner)
      await moveExpiry(service, token as string, Date.now() - TEN_MINUTES)
      return token as string
    },
    status: 410,
    code: 'TOKEN_EXPIRED',
    message: /used/,
  },
}

/** Simulates the passing of time. */
async function moveExpiry(service: TestService, token: string, expiresAt: number): Promise<void> {
  await service.operator.db.write((tx) =>
    tx.db
      .updateTable('claim_tokens')
      .set({ expires_at: expiresAt })
      .where('hash', '=', hashToken(token as ClaimToken))
      .executeTakeFirstOrThrow(),
  )
}

async function start(
  t: TestContext,
  now: () => number = Date.now,
): Promise<{ service: TestService; owner: number }> {
  const service = await startTestService(t, {}, now)
  return { service, owner: await service.operator.addVerifiedOwner() }
}

test('a token that cannot be redeemed is rejected with its own reason on every attempt', async (t) => {
  const { service, owner } = await start(t)
  for (const [name, { make, status, code, message }] of Object.entries(BAD_TOKENS)) {
    await t.test(name, async () => {
      const token = await make(service, owner)
      await unchanged(service, async () => {
        for (const agentId of ['main', 'main', 'another']) {
          const claim = claimBody(token, newKey(), agentId)
          assertRefused(await post(service, '/api/v1/claim', claim), status, code, message)
        }
      })
    })
  }
})

test('attempts with a replaced token do not affect the new token', async (t) => {
  const { service, owner } = await start(t)
  const old = await service.operator.issueToken(owner)
  const live = await service.operator.issueToken(owner)
  assertRefused(await post(service, '/api/v1/claim', claimBody(old)), 410, 'TOKEN_EXPIRED')
  assert.equal((await post(service, '/api/v1/claim', claimBody(live))).status, 200)
})

test('a token is valid for ten minutes, including its last second', async (t) => {
  let now = Date.now()
  const { service, owner } = await start(t, () => now)
  const token = await service.operator.issueToken(owner)
  const row = await service.operator.db.read
    .selectFrom('claim_tokens')
    .selectAll()
    .executeTakeFirstOrThrow()
  assert.equal(row.expires_at - row.created_at, TEN_MINUTES)
  assert.equal(row.created_at, now)
  now += TEN_MINUTES - 1
  assert.equal((await post(service, '/api/v1/claim', claimBody(token))).status, 200)
})

test('a rejected claim can be corrected and sent again with the same token', async (t) => {
  const { service, owner } = await start(t)
  const token = await service.operator.issueToken(owner)
  const key = newKey()
  const good = claimBody(token, key)
  const attempts = [
    { ...good, signature: newKey().sign(`${token}|main`) },
    { ...good, agentId: 'other' },
    { ...good, agentId: '' },
    { ...good, publicKey: newKey().publicKey },
  ]
  for (const attempt of attempts) {
    const answer = await unchanged(service, () => post(service, '/api/v1/claim', attempt))
    assert.ok(answer.status === 400 || answer.status === 401, answer.text)
  }
  assert.equal((await post(service, '/api/v1/claim', good)).status, 200)
})
