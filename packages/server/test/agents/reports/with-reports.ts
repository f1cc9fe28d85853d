import assert from 'node:assert/strict'
import type { AgentReports, ReceivedReport } from '@countersign/protocol'
import { type Answer, jsonOf } from '../../../../../test/support/answer.ts'
import { newKey } from '../../../../../test/support/key.ts'
import type { Signer } from '../../../../../test/support/reports.ts'
import { claimAgent, type TestService } from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'

/** An agent and its owner, signed in. */
export interface OwnedAgent extends Signer {
  readonly owner: SignedInOwner
}

export async function newAgent(service: TestService): Promise<OwnedAgent> {
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const key = newKey()
  return { owner, key, did: await claimAgent(service, owner.ownerId, key) }
}

export function received(answer: Answer): ReceivedReport {
  assert.equal(answer.status, 201, answer.text)
  return jsonOf<ReceivedReport>(answer)
}

export function reportsPath(did: string, rest = ''): string {
  return `/api/account/agents/${did}/reports${rest}`
}

export async function reportsOf(
  owner: Pick<SignedInOwner, 'get'>,
  did: string,
  query = '',
): Promise<AgentReports> {
  const answer = await owner.get(reportsPath(did, query))
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<AgentReports>(answer)
}
