import { CodedError, type ErrorCode, MAX_TRANSFER_AGENTS } from '@countersign/protocol'
import { ownerById } from '../../accounts/owner-table.ts'
import type { AgentRow, Db } from '../../database/database.ts'
import { agentsByTails } from '../agent-table.ts'
import { assertNotEnrolled } from '../enrolment/enrolment-of-agent.ts'
import { noOwnAgent } from '../find-agent.ts'
import { recoveryOf, shareKeyWithOthers, suspensionOfKey } from '../keys/key-table.ts'
import type { KeyReuse } from '../keys/key-use.ts'

/** Agents that are to move from one owner to another. */
export interface WantedMove {
  readonly fromOwner: number
  readonly toOwner: number
  readonly tails: readonly string[]
  readonly keyReuse: KeyReuse
}

/**
 * Reads agents that are to move. Asked when a transfer starts, and again when it takes effect.
 * @returns the agents in the order of their claims
 * @throws CodedError NOT_FOUND if one of them is not the sender's; FORBIDDEN if the sender or the receiver is suspended;
 *   AGENT_NOT_ACTIVE if one is revoked; CONFLICT if the operator has suspended one, its key has renounced it, its recovery is
 *   pending, a workload has enrolled one, or an agent that stays has one of the keys
 */
export async function movableAgents(
  db: Db,
  { fromOwner, toOwner, tails, keyReuse }: WantedMove,
): Promise<readonly AgentRow[]> {
  await assertNotSuspended(db, fromOwner, 'sends')
  await assertReceiverNotSuspended(db, toOwner)
  const agents = await agentsByTails(db, tails)
  if (agents.length < tails.length || agents.some(({ owner_id }) => owner_id !== fromOwner)) {
    throw noOwnAgent()
  }
  for (const agent of agents) await assertMovable(db, agent)
  if (keyReuse === 'owner' && (await shareKeyWithOthers(db, tails))) {
    throw new CodedError(
      'CONFLICT',
      `Another agent has, or had, the same key as one of these, and a key belongs to one owner. Transfer all agents of a key together, up to ${MAX_TRANSFER_AGENTS}.`,
    )
  }
  return agents.toSorted((a, b) => a.seq - b.seq)
}

/** @throws CodedError FORBIDDEN */
export function assertReceiverNotSuspended(db: Db, ownerId: number): Promise<void> {
  return assertNotSuspended(db, ownerId, 'would receive')
}

async function assertNotSuspended(db: Db, ownerId: number, does: string): Promise<void> {
  const owner = await ownerById(db, ownerId)
  if (owner !== undefined && owner.suspended_at === null) return
  throw new CodedError(
    'FORBIDDEN',
    `The operator suspended the account that ${does} the agents. Until they lift that, none can move.`,
  )
}

/** @throws CodedError AGENT_NOT_ACTIVE, CONFLICT */
async function assertMovable(db: Db, agent: AgentRow): Promise<void> {
  const refuse = (why: string, code: ErrorCode = 'CONFLICT') => {
    throw new CodedError(code, `An agent of this transfer cannot move: ${why} (${agent.tail}).`)
  }
  if (agent.status === 'revoked') refuse('it is revoked, which is final', 'AGENT_NOT_ACTIVE')
  await assertNotEnrolled(db, agent.tail)
  const isHeld = agent.status === 'suspended' && agent.status_set_by === 'operator'
  if (isHeld || (await suspensionOfKey(db, agent.public_key)) !== undefined) {
    refuse('the operator suspended it, and only they can lift that')
  }
  if (agent.renounce_final_at !== null) refuse('its key has renounced it; recover it first')
  if ((await recoveryOf(db, agent.tail)) !== undefined) {
    refuse('the recovery of its key is pending; complete or cancel that first')
  }
}
