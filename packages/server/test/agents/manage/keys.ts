import assert from 'node:assert/strict'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import type { TestKey } from '../../../../../test/support/key.ts'
import { verifyBody } from '../../../../../test/support/refused-posts.ts'
import { claimBody, type TestService } from '../../../../../test/support/service.ts'

interface Verified {
  readonly verified: boolean
  readonly agent: { readonly svcDid: string; readonly status: string }
}

/** Verifies a challenge that the key signed. @param svcDid which of the key's DIDs; none: the service chooses */
export async function verifyKey(
  service: TestService,
  key: TestKey,
  svcDid?: string,
): Promise<Verified> {
  const body = { ...verifyBody(key), ...(svcDid && { svcDid }) }
  const answer = await post(service, '/api/v1/agent/verify', body)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<Verified>(answer)
}

/** Asserts that a key that was reported as compromised verifies nobody. @param svcDid one of its DIDs; none: any */
export async function assertBurned(
  service: TestService,
  key: TestKey,
  svcDid?: string,
): Promise<void> {
  const body = { ...verifyBody(key), ...(svcDid && { svcDid }) }
  const answer = await post(service, '/api/v1/agent/verify', body)
  assertRefused(answer, 404, 'NOT_FOUND', /reported as compromised/)
}

export async function statusOf(
  service: TestService,
  did: string,
): Promise<[status: unknown, reason: unknown]> {
  const { status, statusReason } = jsonOf(await ask(service, `/api/agents/${did}`))
  return [status, statusReason]
}

/** Claims a key for an owner. */
export async function claimKey(
  service: TestService,
  ownerId: number,
  key: TestKey,
  agentId: string,
): Promise<Answer> {
  const token = await service.operator.issueToken(ownerId)
  return post(service, '/api/v1/claim', claimBody(token, key, agentId))
}

/** Asserts that the claim of a key is refused and changes nothing, and that its token stays good. */
export async function assertUnclaimable(
  service: TestService,
  ownerId: number,
  key: TestKey,
  message: RegExp,
): Promise<void> {
  const token = await service.operator.issueToken(ownerId)
  const claim = () => post(service, '/api/v1/claim', claimBody(token, key, 'once more'))
  assertRefused(await unchanged(service, claim), 409, 'KEY_ALREADY_CLAIMED', message)
}

/** The types of an agent's events after its claim. */
export async function eventTypesOf({ operator }: TestService, did: string): Promise<string[]> {
  const rows = await operator.db.read
    .selectFrom('events')
    .select('type')
    .where('tail', '=', did.slice(-24))
    .where('type', '!=', 'agent.claimed')
    .orderBy('seq')
    .execute()
  return rows.map(({ type }) => type)
}
