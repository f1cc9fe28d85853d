import assert from 'node:assert/strict'
import type { OwnerAgent, OwnerAgents } from '@countersign/protocol'
import { type Answer, jsonOf } from '../../../../../test/support/answer.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'

export const AGENTS = '/api/account/agents'

/** Starts a service with a signed-in owner and one agent. */
export async function startWithAgent(t: { after(end: () => unknown): void }): Promise<{
  service: TestService
  owner: SignedInOwner
  did: string
}> {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  return { service, owner, did: await claimAgent(service, owner.ownerId) }
}

export async function newOwner(service: TestService, username?: string): Promise<SignedInOwner> {
  return signIn(service, await service.operator.addVerifiedOwner(username))
}

/** Asserts success and reads the agent from a response. */
export function agentIn(answer: Answer): OwnerAgent {
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<OwnerAgent>(answer)
}

export async function showAgent(owner: SignedInOwner, did: string): Promise<OwnerAgent> {
  return agentIn(await owner.get(`${AGENTS}/${did}`))
}

export async function editAgent(
  owner: SignedInOwner,
  did: string,
  patch: object,
): Promise<OwnerAgent> {
  return agentIn(await owner.send('PATCH', `${AGENTS}/${did}`, patch))
}

export async function listAgents(owner: SignedInOwner, query = ''): Promise<OwnerAgents> {
  const answer = await owner.get(`${AGENTS}${query}`)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<OwnerAgents>(answer)
}
