import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { ErrorCode } from '@countersign/protocol'
import { assertRefused } from './answer.ts'
import { post } from './ask.ts'
import { unchanged } from './database-digest.ts'
import { newKey, type TestKey } from './key.ts'
import { type ClaimBody, claimAgent, claimBody, startTestService } from './service.ts'

/** A request that differs from a valid one, and the expected error. */
export interface BadPost<Body> {
  readonly name: string
  /** @returns the body to post: text and bytes are sent unchanged, anything else as JSON */
  readonly change: (good: Body, key: TestKey) => unknown
  readonly contentType?: string
  readonly status: number
  readonly code: ErrorCode
  readonly message?: RegExp
}

export interface VerifyBody {
  readonly publicKey: string
  readonly challenge: string
  readonly signature: string
}

/** The body of a challenge verification, signed. */
export function verifyBody(key: TestKey, challenge = 'a challenge'): VerifyBody {
  return { publicKey: key.publicKey, challenge, signature: key.sign(challenge) }
}

/**
 * Runs one subtest for each case: the claim is refused, nothing is written, and the token can still be used by the valid
 * claim.
 */
export async function assertClaimsRefused(
  t: TestContext,
  cases: readonly BadPost<ClaimBody>[],
): Promise<void> {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  assert.ok(cases.length > 0)
  for (const { name, change, contentType, status, code, message } of cases) {
    await t.test(name, async () => {
      const key = newKey()
      const good = claimBody(await service.operator.issueToken(owner), key)
      const bad = change(good, key)
      const claim = () => post(service, '/api/v1/claim', bad, contentType)
      assertRefused(await unchanged(service, claim), status, code, message)
      assert.equal((await post(service, '/api/v1/claim', good)).status, 200, 'the token is burned')
    })
  }
}

/** Runs one subtest for each case: the verification of an existing agent is refused, and nothing is written. */
export async function assertVerificationsRefused(
  t: TestContext,
  cases: readonly BadPost<VerifyBody>[],
): Promise<void> {
  const service = await startTestService(t)
  const key = newKey()
  const good = verifyBody(key)
  await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  assert.equal((await post(service, '/api/v1/agent/verify', good)).status, 200)
  assert.ok(cases.length > 0)
  for (const { name, change, contentType, status, code, message } of cases) {
    await t.test(name, async () => {
      const bad = change(good, key)
      const verify = () => post(service, '/api/v1/agent/verify', bad, contentType)
      assertRefused(await unchanged(service, verify), status, code, message)
    })
  }
}
