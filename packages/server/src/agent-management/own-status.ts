import type { AgentStatus, OwnerAgent } from '@countersign/protocol'
import type { OwnerDeps } from '../core/deps.ts'
import { afterCommit } from '../core/errors.ts'
import { changeStatus } from './change-status.ts'
import { requireOwn, showOwnAgent, tailOf } from './own-agent.ts'

/**
 * Suspends, reactivates or revokes an agent for its owner. An agent never changes hands, so that whose it is can be
 * asked before.
 * @returns the agent after the change
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, or FORBIDDEN where the operator suspended it
 */
export async function changeOwnStatus(
  deps: Pick<OwnerDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
  reference: string,
  change: { readonly to: AgentStatus; readonly reason: string | null },
): Promise<OwnerAgent> {
  const tail = tailOf(deps.site.naming, reference)
  await requireOwn(deps.db.read, ownerId, tail)
  await changeStatus(deps, { tail, ...change, by: 'owner' })
  return afterCommit(() => showOwnAgent(deps, ownerId, tail))
}
