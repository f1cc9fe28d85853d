import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { ErrorCode } from '@countersign/protocol'
import { assertRefused } from './answer.ts'
import { post } from './ask.ts'
import { unchanged } from './database-digest.ts'
import { newKey, type TestKey } from './key.ts'
import { type ClaimBody, claimAgent, claimBody, startTestService } from './service.ts'

/** A request that differs from a good one, and the refusal that it gets. */
export interface BadPost<Body> {
  readonly name: string
  /** @returns what to post: text and bytes as they are, anything else as JSON */
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
 * One subtest a case: the claim is refused, nothing is written, and its token is still good for the good claim that
 * the bad one was made of.
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
      const { good, key } = newClaim(await service.operator.issueToken(owner))
      const bad = change(good, key)
      const claim = () => post(service, '/api/v1/claim', bad, contentType)
      assertRefused(await unchanged(service, claim), status, code, message)
      assert.equal((await post(service, '/api/v1/claim', good)).status, 200, 'the token is burned')
    })
  }
}

/** One subtest a case: the verification of an agent that is there is refused, and nothing is written. */
export async function assertVerificationsRefused(
  t: TestContext,
  cases: readonly BadPost<VerifyBody>[],
): Promise<void> {
  const service = await startTestService(t)
  const { good, key } = newVerification()
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

/** Of a new key. In URL-safe base64 the key and the signature would read otherwise, so that no case is empty. */
function newClaim(token: string): { good: ClaimBody; key: TestKey } {
  for (;;) {
    const key = newKey()
    const good = claimBody(token, key)
    if (hasUnsafeLetters(good)) return { good, key }
  }
}

function newVerification(): { good: VerifyBody; key: TestKey } {
  for (;;) {
    const key = newKey()
    const good = verifyBody(key)
    if (hasUnsafeLetters(good)) return { good, key }
  }
}

function hasUnsafeLetters(body: { publicKey: string; signature: string }): boolean {
  return /[+/]/.test(body.publicKey) && /[+/]/.test(body.signature)
}
