import { CodedError } from '@countersign/protocol'
import { ownerById } from '../../accounts/owner-table.ts'
import type { AgentRow, JobRow, Tx } from '../../database/database.ts'
import type { TransferRow } from '../../database/schema/organisation-rows.ts'
import type { Move } from '../changes/change.ts'
import { changeAgent } from '../changes/change-agent.ts'
import { evidenceNow } from '../changes/revise-status-entry.ts'
import type { KeyReuse } from '../keys/key-use.ts'
import { followIfLeft } from '../responsible/missing-responsible.ts'
import { endTransfer } from './end-transfer.ts'
import { movableAgents } from './movable-agents.ts'
import { setEnded, tailsOf, transferById } from './transfer-table.ts'

/** What the job of a transfer needs. */
export interface TransferJob {
  readonly id: string
  readonly keyReuse: KeyReuse
}

/**
 * The job of a transfer: an offer that nobody has accepted expires, and an accepted one takes effect, or fails with all its agents.
 * Runs once, on any node.
 */
export async function continueTransfer(tx: Tx, { subject }: JobRow, at: number): Promise<void> {
  const { id, keyReuse } = JSON.parse(subject) as TransferJob
  const transfer = await transferById(tx.db, id)
  if (transfer === undefined) return
  if (transfer.state === 'offered') {
    await endTransfer(tx, transfer, { state: 'expired' }, ['from_owner'], at)
  } else if (transfer.state === 'accepted') await completeTransfer(tx, transfer, keyReuse, at)
}

/** Moves the agents of an accepted transfer, or ends it if one of them cannot move any more. @param at milliseconds since 1970 */
export async function completeTransfer(
  tx: Tx,
  transfer: TransferRow,
  keyReuse: KeyReuse,
  at: number,
): Promise<void> {
  const { from_owner: fromOwner, to_owner: toOwner } = transfer
  const tails = await tailsOf(tx.db, transfer.id)
  // Only what refuses before anything is written ends the transfer: an error of the move itself undoes all of it.
  const agents = await movableAgents(tx.db, { fromOwner, toOwner, tails, keyReuse }).catch(
    (error) => {
      if (error instanceof CodedError) return error
      throw error
    },
  )
  if (!(agents instanceof CodedError)) return moveAgents(tx, transfer, agents, false, at)
  const failed = { state: 'failed', failure: agents.code } as const
  await endTransfer(tx, transfer, failed, ['from_owner', 'to_owner'], at)
}

/**
 * Gives agents to the receiver of a transfer, all in the caller's transaction.
 * @param agents that `movableAgents` has admitted in this transaction
 */
export async function moveAgents(
  tx: Tx,
  transfer: TransferRow,
  agents: readonly AgentRow[],
  isSamePerson: boolean,
  at: number,
): Promise<void> {
  const { id, from_owner, to_owner: toOwner, accepted_by: responsible } = transfer
  const move: Move = {
    transfer: id,
    agents: agents.length,
    from: (await ownerById(tx.db, from_owner))?.username ?? '',
    to: (await ownerById(tx.db, toOwner))?.username ?? '',
    toOwner,
    responsible,
    isSamePerson,
  }
  await setEnded(tx, id, { state: 'done', failure: null, ended_at: at })
  for (const { tail } of agents) {
    const { status } = await changeAgent(tx, tail, { type: 'agent.released', move }, at)
    const { grade } = await evidenceNow(tx.db, { tail, status, owner_id: toOwner }, at)
    await changeAgent(tx, tail, { type: 'agent.owner_changed', move, grade }, at)
  }
  if (responsible !== null) await followIfLeft(tx, { orgId: toOwner, responsible }, at)
}
