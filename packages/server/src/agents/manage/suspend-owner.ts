import { CodedError } from '@countersign/protocol'
import { appendNotification } from '../../accounts/notifications/notify-owner.ts'
import { clearSuspension, ownerById, setSuspension } from '../../accounts/owner-table.ts'
import type { Database, Tx } from '../../database/database.ts'
import { appendEvent } from '../../database/event-table.ts'
import { activeAgentsAfter, agentsSuspendedWithOwner, OWNER_SUSPENDED } from '../agent-table.ts'
import { resume } from '../changes/holds.ts'
import { setStatus } from '../changes/set-status.ts'
import { supersedeTokens } from '../claims/claim-table.ts'
import { assertReason } from './change-status.ts'

export interface SuspendOwnerDeps {
  readonly db: Database
  readonly now: () => number
}

/** Agents changed in one transaction at most, because other writers on all nodes wait for it. */
const BATCH_SIZE = 200

/**
 * Suspends an owner and their active agents, for the operator. From the first transaction on, the owner's claim tokens are
 * void and they can issue and change nothing. Agents follow in transactions of 200: after an interruption, a retry
 * continues from there.
 * @param reason a machine-readable word, shown to the owner, or null
 * @returns the number of agents suspended
 * @throws CodedError VALIDATION_ERROR if the owner and all their agents are suspended already, or the reason is not a word
 */
export async function suspendOwner(
  { db, now }: SuspendOwnerDeps,
  ownerId: number,
  reason: string | null,
): Promise<number> {
  assertReason(reason)
  for (let total = 0; ; ) {
    const isFirst = total === 0
    const count = await db.write(async (tx) => {
      const isNew = isFirst && (await beginSuspension(tx, ownerId, reason, now()))
      const suspended = await suspendBatch(tx, ownerId, now())
      if (isFirst && !isNew && suspended === 0) throw invalid('This owner is suspended already.')
      return suspended
    })
    total += count
    if (count < BATCH_SIZE) return total
  }
}

/** @returns false, without a change, if the owner is suspended already */
export async function beginSuspension(
  tx: Tx,
  ownerId: number,
  reason: string | null,
  at: number,
): Promise<boolean> {
  if (!(await setSuspension(tx, ownerId, reason, at))) return false
  await supersedeTokens(tx, ownerId, at)
  const seq = tx.nextSeq()
  const payload = { reason }
  await appendEvent(tx, { seq, at, type: 'owner.suspended', tail: null, ownerId, payload })
  if (tx.isLogged === false) return true
  const subject = String(at)
  const kind = 'account_suspended'
  await appendNotification(tx, { ownerId, kind, subject, details: { reason }, at })
  return true
}

async function suspendBatch(tx: Tx, ownerId: number, at: number): Promise<number> {
  // Between two batches, another command may have lifted the suspension.
  if ((await ownerById(tx.db, ownerId))?.suspended_at === null) return 0
  const agents = await activeAgentsAfter(tx.db, ownerId, 0, BATCH_SIZE)
  const status = {
    to: 'suspended',
    reason: OWNER_SUSPENDED,
    setBy: 'operator',
    isBulk: true,
  } as const
  for (const { tail } of agents) await setStatus(tx, tail, status, at)
  return agents.length
}

/**
 * Lifts the suspension of an owner. Agents that it suspended become active again, in transactions of 200, except those that
 * are held for another reason. After an interruption, a retry continues from there.
 * @returns the number of agents that became active
 * @throws CodedError VALIDATION_ERROR if the owner is not suspended
 */
export async function reactivateOwner(
  { db, now }: SuspendOwnerDeps,
  ownerId: number,
): Promise<number> {
  let reactivated = 0
  for (let after = 0; ; ) {
    const isFirst = after === 0
    const batch = await db.write(async (tx) => {
      const isNew = isFirst && (await endSuspension(tx, ownerId, now()))
      const done = await resumeBatch(tx, ownerId, after, now())
      if (isFirst && !isNew && done.last === null) throw invalid('This owner is not suspended.')
      return done
    })
    reactivated += batch.reactivated
    if (batch.last === null) return reactivated
    after = batch.last
  }
}

/** @returns false, without a change, if the owner is not suspended */
export async function endSuspension(tx: Tx, ownerId: number, at: number): Promise<boolean> {
  if (!(await clearSuspension(tx, ownerId))) return false
  const seq = tx.nextSeq()
  await appendEvent(tx, { seq, at, type: 'owner.reactivated', tail: null, ownerId, payload: {} })
  return true
}

async function resumeBatch(
  tx: Tx,
  ownerId: number,
  after: number,
  at: number,
): Promise<{ readonly reactivated: number; readonly last: number | null }> {
  const agents = await agentsSuspendedWithOwner(tx.db, ownerId, after, BATCH_SIZE)
  let reactivated = 0
  for (const agent of agents) if (await resume(tx, agent, null, at, true)) reactivated += 1
  return { reactivated, last: agents.at(-1)?.seq ?? null }
}

function invalid(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}
