import { appendNotification } from '../../accounts/notifications/notify-owner.ts'
import { isLost, type MembershipEffect } from '../../accounts/organisations/end-membership.ts'
import { DELETED_OWNER_ID, ownerById } from '../../accounts/owner-table.ts'
import type { Tx } from '../../database/database.ts'
import { cancelJob } from '../../database/jobs/job-table.ts'
import type { TransferRow } from '../../database/schema/organisation-rows.ts'
import {
  openTransfersOf,
  openTransfersStartedBy,
  replaceOwner,
  setEnded,
  tailsOf,
} from './transfer-table.ts'

/** The kind of job that ends an offer, or makes an accepted transfer take effect. */
export const TRANSFER = 'transfer'

/** The id of the job of a transfer. */
export function transferJobOf(id: string): string {
  return `${TRANSFER}:${id}`
}

type Party = 'from_owner' | 'to_owner'

/** The other party learns of it. */
const OTHER: Readonly<Record<Party, Party>> = { from_owner: 'to_owner', to_owner: 'from_owner' }

/** Notifies one party of a transfer. @param change `offered`, `accepted` or how it ended */
export async function notifyOfTransfer(
  tx: Tx,
  party: Party,
  { id, ...transfer }: TransferRow,
  change: string,
  at: number,
): Promise<void> {
  const other = await ownerById(tx.db, transfer[OTHER[party]])
  const tails = await tailsOf(tx.db, id)
  await appendNotification(tx, {
    ownerId: transfer[party],
    kind: 'transfer',
    subject: `${id}:${change}`,
    details: {
      change,
      agents: tails.length,
      tail: tails[0] ?? null,
      username: other?.username ?? null,
      effectiveAt: transfer.effective_at,
      expiresAt: transfer.expires_at,
      failure: transfer.failure,
    },
    at,
  })
}

export type TransferEnd =
  | { readonly state: 'declined' | 'cancelled' | 'expired' }
  /** `failure`: an error code. */
  | { readonly state: 'failed'; readonly failure: string }

/**
 * Ends an open transfer without effect, within the caller's transaction.
 * @param told who is notified
 * @returns false, without a change, if it has ended already
 */
export async function endTransfer(
  tx: Tx,
  transfer: TransferRow,
  end: TransferEnd,
  told: readonly Party[],
  at: number,
): Promise<boolean> {
  const ended = { failure: null, ...end, ended_at: at }
  if (!(await setEnded(tx, transfer.id, ended))) return false
  await cancelJob(tx, transferJobOf(transfer.id))
  for (const party of told) {
    await notifyOfTransfer(tx, party, { ...transfer, ...ended }, end.state, at)
  }
  return true
}

/** The transfers that a member has started end with the membership, and with a role that no longer allows to start one. */
export const transfersOfFormerAdmin: MembershipEffect = async (tx, lost, at) => {
  if (!isLost(lost, 'admin')) return {}
  const { id, org_id: organisation } = lost.membership
  const transfers = await openTransfersStartedBy(tx.db, organisation, id)
  for (const transfer of transfers) {
    await endTransfer(tx, transfer, { state: 'cancelled' }, ['from_owner', 'to_owner'], at)
  }
  return { transfersEnded: transfers.length }
}

/** Ends the open transfers of an owner whose account is deleted. */
export async function failTransfersOf(tx: Tx, ownerId: number, at: number): Promise<void> {
  for (const transfer of await openTransfersOf(tx.db, ownerId)) {
    const told: Party = transfer.from_owner === ownerId ? 'to_owner' : 'from_owner'
    await endTransfer(tx, transfer, { state: 'failed', failure: 'NOT_FOUND' }, [told], at)
  }
}

/** Erases an owner from all transfers, which have ended by then. */
export async function eraseOwnerOfTransfers(tx: Tx, ownerId: number): Promise<void> {
  await replaceOwner(tx, ownerId, DELETED_OWNER_ID)
}
