import {
  type AgentStatus,
  CodedError,
  canBecome,
  type OwnerAgent,
  type Tail,
} from '@countersign/protocol'
import { agentByTail, updateStatus } from '../agents/agent-table.ts'
import { regradeAgent } from '../agents/regrade.ts'
import { requireOwn, tailOf } from '../agents/require-own-agent.ts'
import { stopChecks } from '../channels/channel-lifecycle.ts'
import type { AgentRow, Database, Tx } from '../core/database/database.ts'
import { appendEvent, type EventType } from '../core/database/event-table.ts'
import type { CoreDeps } from '../core/deps.ts'
import { afterCommit } from '../core/errors.ts'
import { getOwnAgent } from './own-agent.ts'

export interface ChangeStatusDeps {
  readonly db: Database
  readonly now: () => number
}

export interface StatusRequest {
  readonly tail: Tail
  readonly to: AgentStatus
  /** A machine-readable word such as `key_compromised`, or null. */
  readonly reason: string | null
  readonly by: 'owner' | 'operator'
}

const REASON_PATTERN = /^[a-z][a-z0-9_-]{0,63}$/

const EVENT_TYPES: Readonly<Record<AgentStatus, EventType>> = {
  active: 'agent.reactivated',
  suspended: 'agent.suspended',
  revoked: 'agent.revoked',
}

/**
 * Suspends, reactivates or revokes an agent (docs/contract-notes.md, status transitions).
 * @returns the previous status
 * @throws CodedError VALIDATION_ERROR if the transition is not allowed, NOT_FOUND, or FORBIDDEN if the owner tries to
 *   reactivate an agent that the operator suspended
 */
export async function changeStatus(
  deps: ChangeStatusDeps,
  request: StatusRequest,
): Promise<AgentStatus> {
  const { tail, to, reason, by } = request
  if (reason !== null && !REASON_PATTERN.test(reason)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'A reason is a word of lower-case letters, digits, _ and -, such as key_compromised.',
    )
  }
  return deps.db.write(async (tx) => {
    const agent = await agentByTail(tx.db, tail)
    if (agent === undefined) throw new CodedError('NOT_FOUND', 'There is no agent with this DID.')
    const from = agent.status
    if (!canBecome(from, to)) {
      throw new CodedError('VALIDATION_ERROR', `An agent that is ${from} cannot become ${to}.`)
    }
    if (to === 'active' && by === 'owner' && agent.status_set_by === 'operator') {
      throw new CodedError('FORBIDDEN', 'The operator suspended this agent; only they can lift it.')
    }
    await writeStatus(tx, agent, request, deps.now())
    return from
  })
}

/**
 * Writes a status change that was checked before, within the caller's transaction: the status, its event, the grade,
 * and on revocation the end of channel checks.
 * @param at milliseconds since the Unix epoch
 */
export async function writeStatus(
  tx: Tx,
  agent: AgentRow,
  { to, reason, by }: Omit<StatusRequest, 'tail'>,
  at: number,
): Promise<void> {
  const { tail, status: from, owner_id: ownerId } = agent
  const version = tx.nextSeq()
  await updateStatus(tx, { tail, from, to, reason, setBy: by, at, version })
  const payload = { status: to, reason }
  await appendEvent(tx, { seq: version, at, type: EVENT_TYPES[to], tail, ownerId, payload })
  await regradeAgent(tx, { ...agent, status: to }, at)
  if (to === 'revoked') await stopChecks(tx, tail)
}

/**
 * Suspends, reactivates or revokes an agent for its owner. An agent never changes owners, so ownership is checked before
 * the transaction.
 * @param reference the agent's DID or its tail
 * @returns the agent after the change
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, or FORBIDDEN if the operator suspended it
 */
export async function changeOwnStatus(
  deps: Pick<CoreDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
  reference: string,
  change: { readonly to: AgentStatus; readonly reason: string | null },
): Promise<OwnerAgent> {
  const tail = tailOf(deps.site.naming, reference)
  await requireOwn(deps.db.read, ownerId, tail)
  await changeStatus(deps, { tail, ...change, by: 'owner' })
  return afterCommit(() => getOwnAgent(deps, ownerId, tail))
}
