import assert from 'node:assert/strict'
import type { EnrolmentRule } from '@countersign/protocol'
import { jsonOf } from './answer.ts'
import { newPlatform, ruleFor, SUBJECT, type TestPlatform } from './platform.ts'
import type { TestService } from './service.ts'
import { type SignedInOwner, signIn } from './signed-in.ts'

/** A rule of a new owner, and the platform whose workloads it admits. */
export interface TestRule {
  readonly owner: SignedInOwner
  readonly rule: EnrolmentRule
  readonly platform: TestPlatform
  /** The token of the workload that the rule admits. */
  tokenFor(audience: string): Promise<string>
}

/** @param more members of the rule. @param now milliseconds since 1970 */
export async function newTestRule(
  service: TestService,
  more: object = {},
  now: () => number = Date.now,
): Promise<TestRule> {
  const platform = newPlatform(undefined, now)
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const answer = await owner.post('/api/account/enrolment/rules', ruleFor(platform, more))
  assert.equal(answer.status, 201, answer.text)
  const rule = jsonOf<EnrolmentRule>(answer)
  const tokenFor = (audience: string) => platform.token({ aud: audience, sub: SUBJECT })
  return { owner, rule, platform, tokenFor }
}
