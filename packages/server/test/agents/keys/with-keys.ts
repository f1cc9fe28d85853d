import assert from 'node:assert/strict'
import type { AgentKeys } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import type { TestKey } from '../../../../../test/support/key.ts'
import { recoveryBody, type Signed, vetoBody } from '../../../../../test/support/key-operations.ts'
import { verifyBody } from '../../../../../test/support/refused-posts.ts'
import type { TestService } from '../../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'

export { HOUR_MS, signInBy, TestClock } from '../../../../../test/support/sign-in-by.ts'

export const AGENTS = '/api/account/agents'
export async function keysOf(service: TestService, did: string): Promise<AgentKeys> {
  const answer = await ask(service, `/api/v1/agent/${did}/keys`)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<AgentKeys>(answer)
}

/** The keys of an agent as `[sequence, state, how it became current]`. */
export async function historyOf(service: TestService, did: string): Promise<unknown[]> {
  const { keys } = await keysOf(service, did)
  return keys.map(({ sequence, state, changedBy }) => [sequence, state, changedBy])
}

/** Asserts that a key proves an agent, everywhere. */
export async function assertProves(service: TestService, key: TestKey, did: string): Promise<void> {
  const verified = await post(service, '/api/v1/agent/verify', verifyBody(key))
  assert.equal(verified.status, 200, verified.text)
  const { agent } = jsonOf<{ agent: { svcDid: string } }>(verified)
  assert.deepEqual([jsonOf(verified).verified, agent.svcDid], [true, did])
  assert.equal(jsonOf(await ask(service, `/api/agents/${did}`)).publicKey, key.publicKey)
  const { text } = await ask(service, `/agent/${did}/jwks.json`)
  assert.ok(text.includes(Buffer.from(key.publicKey, 'base64').toString('base64url')))
}

/** Asserts that a key verifies nowhere, with a message that says why. */
export async function assertEnded(
  service: TestService,
  key: TestKey,
  message: RegExp,
): Promise<void> {
  const lookup = await ask(service, `/api/v1/agent/${encodeURIComponent(key.publicKey)}`)
  assertRefused(lookup, 404, 'NOT_FOUND', message)
  const verified = await post(service, '/api/v1/agent/verify', verifyBody(key))
  assertRefused(verified, 404, 'NOT_FOUND', message)
}

export const REPLACED = /was replaced at \d{4}-\d\d-\d\dT/
export const REPORTED = /reported as compromised.*since \d{4}-\d\d-\d\dT/

export function recoverWith(
  service: TestService,
  did: string,
  request: { token: string; next: TestKey; sequence: number },
  changed: Partial<Signed> = {},
): Promise<Answer> {
  const body = recoveryBody(service, did, request, changed)
  return post(service, `/api/v1/agent/${did}/recover`, body)
}

export function veto(
  service: TestService,
  did: string,
  request: { old: TestKey; sequence: number },
  changed: Partial<Signed> = {},
): Promise<Answer> {
  const body = vetoBody(service, did, request, changed)
  return post(service, `/api/v1/agent/${did}/recovery/veto`, body)
}

/** Starts a recovery. @returns the token */
export async function startRecovery(
  owner: SignedInOwner,
  did: string,
  reason: 'key_lost' | 'key_compromised',
): Promise<string> {
  const answer = await owner.post(`${AGENTS}/${did}/recovery`, { reason })
  assert.equal(answer.status, 201, answer.text)
  return jsonOf(answer).recoveryToken as string
}
