import { CodedError, type Transfer } from '@countersign/protocol'
import type { Session } from '../../accounts/owners/session.ts'
import type { Tx } from '../../database/database.ts'
import type { TransferRow } from '../../database/schema/organisation-rows.ts'
import { afterCommit } from '../../http/errors.ts'
import { endTransfer, notifyOfTransfer } from './end-transfer.ts'
import { describeTransfer } from './list-transfers.ts'
import { assertReceiverNotSuspended } from './movable-agents.ts'
import { completeTransfer } from './move-agents.ts'
import { assertVerified, scheduleTransfer, type TransferDeps } from './start-transfer.ts'
import { setAccepted, transferById } from './transfer-table.ts'

/**
 * Accepts agents that another owner has offered. They move after the delay of a recovery, so that the sender can object.
 * @throws CodedError NOT_FOUND if the transfer was not offered to this owner; CONFLICT if it has been accepted or has ended;
 *   FORBIDDEN if the receiver is suspended; IDENTITY_REQUIRED if they are not verified
 */
export async function acceptTransfer(
  deps: TransferDeps,
  { ownerId, membership }: Session,
  id: string,
): Promise<Transfer> {
  const { db, now, keyReuse, recoveryDelayMs } = deps
  await db.write(async (tx) => {
    const at = now()
    const transfer = await requireTransfer(tx, id, { to_owner: ownerId })
    await assertReceiverNotSuspended(tx.db, ownerId)
    await assertVerified(tx.db, ownerId, at)
    const effective_at = at + recoveryDelayMs
    const accepted = { accepted_by: membership?.id ?? null, accepted_at: at, effective_at }
    if (!(await setAccepted(tx, id, accepted))) throw endedAlready()
    const after: TransferRow = { ...transfer, ...accepted, state: 'accepted' }
    await notifyOfTransfer(tx, 'from_owner', after, 'accepted', at)
    if (recoveryDelayMs === 0) await completeTransfer(tx, after, keyReuse, at)
    else await scheduleTransfer(tx, { id, keyReuse }, effective_at)
  })
  return afterCommit(() => describeTransfer(deps, ownerId, id))
}

/**
 * Declines agents that another owner has offered, also after they were accepted, until they move.
 * @throws CodedError NOT_FOUND, CONFLICT
 */
export function declineTransfer(
  deps: TransferDeps,
  { ownerId }: Session,
  id: string,
): Promise<Transfer> {
  return end(deps, ownerId, id, 'declined')
}

/**
 * Cancels a transfer that this owner has started, until the agents move.
 * @throws CodedError NOT_FOUND, CONFLICT
 */
export function cancelTransfer(
  deps: TransferDeps,
  { ownerId }: Session,
  id: string,
): Promise<Transfer> {
  return end(deps, ownerId, id, 'cancelled')
}

async function end(
  deps: TransferDeps,
  ownerId: number,
  id: string,
  state: 'declined' | 'cancelled',
): Promise<Transfer> {
  const { db, now } = deps
  const isSender = state === 'cancelled'
  await db.write(async (tx) => {
    const party = isSender ? { from_owner: ownerId } : { to_owner: ownerId }
    const transfer = await requireTransfer(tx, id, party)
    const told = isSender ? 'to_owner' : 'from_owner'
    if (!(await endTransfer(tx, transfer, { state }, [told], now()))) throw endedAlready()
  })
  return afterCommit(() => describeTransfer(deps, ownerId, id))
}

/** @throws CodedError NOT_FOUND, also if it is a transfer of others */
async function requireTransfer(
  tx: Tx,
  id: string,
  party: Partial<Pick<TransferRow, 'from_owner' | 'to_owner'>>,
): Promise<TransferRow> {
  const transfer = await transferById(tx.db, id)
  const { from_owner = transfer?.from_owner, to_owner = transfer?.to_owner } = party
  if (transfer?.from_owner === from_owner && transfer?.to_owner === to_owner && transfer) {
    return transfer
  }
  throw new CodedError('NOT_FOUND', 'You have no such transfer.')
}

function endedAlready(): CodedError {
  return new CodedError('CONFLICT', 'This transfer was accepted already, or has ended.')
}
