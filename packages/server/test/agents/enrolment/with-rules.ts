import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { EnrolmentRule, EnrolResponse, OwnerAgent } from '@countersign/protocol'
import { type Answer, jsonOf } from '../../../../../test/support/answer.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import {
  enrol,
  enrolmentBody,
  SUBJECT,
  type TestPlatform,
} from '../../../../../test/support/platform.ts'
import type { TestService } from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'
import { until } from '../../../../../test/support/until.ts'

export const RULES = '/api/account/enrolment/rules'

export async function newRule(owner: SignedInOwner, rule: object): Promise<EnrolmentRule> {
  const answer = await owner.post(RULES, rule)
  assert.equal(answer.status, 201, answer.text)
  return jsonOf<EnrolmentRule>(answer)
}

/** A new verified owner, signed in. */
export async function newOwner(
  service: TestService,
  username?: string,
  signedInAt?: number,
): Promise<SignedInOwner> {
  return signIn(service, await service.operator.addVerifiedOwner(username), signedInAt)
}

/** Sends an enrolment with a new token of a platform. */
export async function enrolBy(
  service: TestService,
  platform: TestPlatform,
  { id, audience }: Pick<EnrolmentRule, 'id' | 'audience'>,
  key: TestKey = newKey(),
  now: () => number = Date.now,
): Promise<Answer> {
  const token = await platform.token({ aud: audience, sub: SUBJECT, jti: randomUUID() })
  const issuedAt = Math.floor(now() / 1000)
  return enrol(service, enrolmentBody(service, id, token, key, issuedAt))
}

/** Asks again while the service says that too much comes at once, as clients do. */
export async function untilDecided(ask: () => Promise<Answer>): Promise<Answer> {
  let answer = await ask()
  await until(async () => {
    if (answer.status !== 503) return true
    answer = await ask()
    return false
  })
  return answer
}

/** The DID of an enrolment that was answered with this status. */
export function didIn(answer: Answer, status = 201): string {
  assert.equal(answer.status, status, answer.text)
  return jsonOf<EnrolResponse>(answer).svcDid as string
}

export async function ownAgent(owner: SignedInOwner, did: string): Promise<OwnerAgent> {
  const answer = await owner.get(`/api/account/agents/${did}`)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<OwnerAgent>(answer)
}

/** Asserts that a service cannot decide now, and says when to ask again. */
export function assertUnavailable(answer: Answer): void {
  assert.equal(answer.status, 503, answer.text)
  assert.equal(jsonOf<{ error: { code: string } }>(answer).error.code, 'UNAVAILABLE')
  assert.ok(Number(answer.headers.get('retry-after')) > 0)
}
