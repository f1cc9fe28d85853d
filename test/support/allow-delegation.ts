import assert from 'node:assert/strict'
import { certificateOf, decodeJws } from './agent-certificates.ts'
import type { TestService } from './service.ts'
import { signInBy } from './sign-in-by.ts'
import { until } from './until.ts'

/** Has the owner of an agent allow it to delegate, and waits until its certificate says so. */
export async function allowDelegation(
  service: TestService,
  ownerId: number,
  did: string,
  maxDepth: number,
): Promise<void> {
  const owner = await signInBy(service, ownerId, Date.now)
  const answer = await owner.send('PUT', `/api/account/agents/${did}/delegation`, { maxDepth })
  assert.equal(answer.status, 200, answer.text)
  await until(async () => {
    const { maxDelegationDepth = 0 } = decodeJws(await certificateOf(service, did)).claims
    return maxDelegationDepth === maxDepth
  })
}
