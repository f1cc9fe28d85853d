import {
  CodedError,
  MAX_RECEIVED_TRANSFERS,
  MAX_SENT_TRANSFERS,
  type NewTransfer,
  randomBase58,
  type StartedTransfer,
  TRANSFER_LIFETIME_MS,
} from '@countersign/protocol'
import { liveMembershipIn } from '../../accounts/organisations/membership-table.ts'
import { ownerByUsername } from '../../accounts/owner-table.ts'
import { assertEstablishedMethod } from '../../accounts/owners/established-method.ts'
import type { Session } from '../../accounts/owners/session.ts'
import { hasCurrentVerification } from '../../accounts/verification-table.ts'
import { tailOf } from '../../base/site.ts'
import { timestampOrNull } from '../../base/timestamp.ts'
import type { Db, OwnerRow, Tx } from '../../database/database.ts'
import { scheduleJob } from '../../database/jobs/job-table.ts'
import type { TransferRow } from '../../database/schema/organisation-rows.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import type { KeyReuse } from '../keys/key-use.ts'
import { notifyOfTransfer, TRANSFER, transferJobOf } from './end-transfer.ts'
import { movableAgents } from './movable-agents.ts'
import { moveAgents, type TransferJob } from './move-agents.ts'
import { insertAgents, insertTransfer, openTransfersOf } from './transfer-table.ts'

export interface TransferDeps extends Pick<CoreDeps, 'db' | 'site' | 'now' | 'randomBytes'> {
  readonly keyReuse: KeyReuse
  /** How long after its acceptance a transfer takes effect, in milliseconds. */
  readonly recoveryDelayMs: number
}

const ID_LENGTH = 12

/**
 * Offers agents to another owner, who has 7 days to accept. A person who gives agents of their own account to an organisation of
 * which they are an admin needs nobody's consent: those move at once.
 * @throws CodedError VALIDATION_ERROR, UNAUTHENTICATED, RECENT_SIGN_IN_REQUIRED; NOT_FOUND if there is no such receiver or agent;
 *   CONFLICT if one of the agents is in another open transfer, or too many are open; those of `movableAgents`; IDENTITY_REQUIRED if
 *   the agents would move at once and the organisation is not verified
 */
export async function startTransfer(
  deps: TransferDeps,
  session: Session,
  { agents, to }: NewTransfer,
): Promise<StartedTransfer> {
  const { db, site, now, randomBytes, keyReuse } = deps
  const tails = [...new Set(agents.map((did) => tailOf(site.naming, did)))]
  const id = `tr_${randomBase58(ID_LENGTH, randomBytes)}`
  return db.write(async (tx) => {
    const at = now()
    await assertEstablishedMethod(tx, session, at)
    const receiver = await requireReceiver(tx.db, session.ownerId, to)
    const toOwner = receiver.id
    const wanted = { fromOwner: session.ownerId, toOwner, tails, keyReuse }
    const rows = await movableAgents(tx.db, wanted)
    await assertFewOpen(tx.db, session.ownerId, toOwner)
    const membership = await ownMembership(tx.db, session, toOwner)
    const offer: TransferRow = {
      id,
      from_owner: session.ownerId,
      to_owner: toOwner,
      state: 'offered',
      started_by: session.membership?.id ?? null,
      accepted_by: null,
      failure: null,
      created_at: at,
      expires_at: at + TRANSFER_LIFETIME_MS,
      accepted_at: null,
      effective_at: null,
      ended_at: null,
    }
    if (membership === null) {
      await insert(tx, offer, tails)
      await scheduleTransfer(tx, { id, keyReuse }, offer.expires_at)
      await notifyOfTransfer(tx, 'to_owner', offer, 'offered', at)
      return describeStarted(offer, tails.length, to)
    }
    await assertVerified(tx.db, toOwner, at)
    const accepted = { accepted_by: membership, accepted_at: at, effective_at: at }
    const transfer: TransferRow = { ...offer, ...accepted, state: 'accepted' }
    await insert(tx, transfer, tails)
    await moveAgents(tx, transfer, rows, true, at)
    return describeStarted({ ...transfer, state: 'done' }, tails.length, to)
  })
}

export function scheduleTransfer(tx: Tx, job: TransferJob, at: number): Promise<void> {
  const subject = JSON.stringify(job)
  return scheduleJob(tx, { id: transferJobOf(job.id), kind: TRANSFER, subject, run_at: at })
}

/** @throws CodedError IDENTITY_REQUIRED if the receiver has no current verification */
export async function assertVerified(db: Db, ownerId: number, at: number): Promise<void> {
  if (await hasCurrentVerification(db, ownerId, at)) return
  throw new CodedError(
    'IDENTITY_REQUIRED',
    'The identity of the receiver is not verified. Verify it first; then the agents can move.',
  )
}

/** @throws CodedError NOT_FOUND, VALIDATION_ERROR */
async function requireReceiver(db: Db, sender: number, username: string): Promise<OwnerRow> {
  const receiver = await ownerByUsername(db, username)
  // An account that an organisation manages owns nothing.
  if (receiver === undefined || receiver.deleted_at !== null || receiver.kind === 'member') {
    throw new CodedError('NOT_FOUND', 'There is no account or organisation with this username.')
  }
  if (receiver.id !== sender) return receiver
  throw new CodedError('VALIDATION_ERROR', 'These agents are yours already. Name another owner.')
}

/** @returns the membership of a person in the organisation to which they give agents of their own account, if they are an admin */
async function ownMembership(db: Db, session: Session, toOwner: number): Promise<string | null> {
  if (session.membership !== null) return null
  const live = await liveMembershipIn(db, toOwner, session.personId)
  return live?.role === 'admin' ? live.id : null
}

/** @throws CodedError CONFLICT */
async function assertFewOpen(db: Db, sender: number, receiver: number): Promise<void> {
  const sent = (await openTransfersOf(db, sender)).filter((each) => each.from_owner === sender)
  if (sent.length >= MAX_SENT_TRANSFERS) {
    throw new CodedError(
      'CONFLICT',
      `${MAX_SENT_TRANSFERS} transfers of yours are open. Cancel one, or wait until one has ended.`,
    )
  }
  const open = await openTransfersOf(db, receiver)
  if (open.filter((each) => each.to_owner === receiver).length < MAX_RECEIVED_TRANSFERS) return
  throw new CodedError(
    'CONFLICT',
    `The receiver has ${MAX_RECEIVED_TRANSFERS} open transfers. Ask them to accept or decline some.`,
  )
}

/** @throws CodedError CONFLICT */
async function insert(tx: Tx, transfer: TransferRow, tails: readonly string[]): Promise<void> {
  await insertTransfer(tx, transfer)
  if (await insertAgents(tx, transfer.id, tails)) return
  throw new CodedError(
    'CONFLICT',
    'One of these agents is in another transfer that is open. Cancel that one first.',
  )
}

function describeStarted(
  { id, state, effective_at }: TransferRow,
  agents: number,
  to: string,
): StartedTransfer {
  return { id, state, agents, to, effectiveAt: timestampOrNull(effective_at) }
}
