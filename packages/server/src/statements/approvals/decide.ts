import {
  type ApprovalOptions,
  type ApprovalsSetting,
  approvalChallenge,
  CodedError,
  type OwnerApproval,
  type Tail,
} from '@countersign/protocol'
import { recordAccountActivity } from '../../accounts/account-activity-table.ts'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import {
  assertRecentSignIn,
  assertStillSignedIn,
  type Session,
} from '../../accounts/owners/session.ts'
import { changeAgent } from '../../agents/changes/change-agent.ts'
import { requireOwn } from '../../agents/find-agent.ts'
import { didOfAgent, tailOf } from '../../base/site.ts'
import { timestampOrNull } from '../../base/timestamp.ts'
import type { Tx } from '../../database/database.ts'
import type { RequestMetrics } from '../../http/metrics/request-metrics.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import {
  type CurrentApproval,
  type Decision,
  decideApproval,
  endApprovals,
  setAsking,
  storedAsPending,
} from './approval-table.ts'
import { endMandatesOfAgent } from './mandate-table.ts'
import { getOwnApproval, requireOwnApproval, statementOf, stateOf } from './read-approvals.ts'
import {
  invalidAssertion,
  type PasskeyDeps,
  passkeyOptions,
  recordUse,
  verifySigned,
} from './signed-by-passkey.ts'

export interface DecideDeps extends PasskeyDeps {
  readonly metrics: Pick<RequestMetrics, 'approvals' | 'approvalDecisions'>
}

/**
 * The passkeys with which a person can approve a request.
 * @throws CodedError NOT_FOUND; CONFLICT, TOKEN_EXPIRED or AGENT_NOT_ACTIVE if there is nothing to decide; FORBIDDEN if they have none
 */
export async function approvalOptions(
  deps: DecideDeps,
  session: Session,
  id: string,
): Promise<ApprovalOptions> {
  const { db, now } = deps
  assertPending(await requireOwnApproval(db.read, session.ownerId, id), now())
  return passkeyOptions(deps, session)
}

/**
 * Approves a request by a passkey of the person that is established. The passkey signs the statement of the request.
 * @param response the authenticator's response, unverified
 * @throws CodedError NOT_FOUND; INVALID_SIGNATURE; FORBIDDEN if the passkey or the role is younger than 72 hours;
 *   CONFLICT if it was decided, TOKEN_EXPIRED, AGENT_NOT_ACTIVE; UNAUTHENTICATED
 */
export async function approve(
  deps: DecideDeps,
  session: Session,
  id: string,
  response: Record<string, unknown>,
): Promise<OwnerApproval> {
  const { db, site, now, metrics } = deps
  const { ownerId } = session
  const row = await requireOwnApproval(db.read, ownerId, id)
  assertPending(row, now())
  const challenge = approvalChallenge(site.naming.shortName, statementOf(site, row))
  const signed = await verifySigned(deps, session, challenge, response)
  if (signed === null) {
    // Of two browsers with one assertion, the second one may find the counter of the first.
    assertPending(await requireOwnApproval(db.read, ownerId, id), now())
    throw invalidAssertion()
  }
  const seconds = await db.write(async (tx) => {
    const at = now()
    await assertStillSignedIn(tx, session)
    const approval = await assertUndecided(tx, session, id, at)
    await recordUse(tx, session, signed, at)
    return decide(tx, session, approval, { state: 'approved', ...signed.assertion }, at)
  })
  metrics.approvals.add('approved')
  metrics.approvalDecisions.observe(seconds)
  return getOwnApproval(deps, ownerId, id)
}

/**
 * Denies a request; the session is enough.
 * @param turnOff whether the agent may not ask any more
 * @throws CodedError NOT_FOUND; CONFLICT if it was decided, TOKEN_EXPIRED, AGENT_NOT_ACTIVE; UNAUTHENTICATED
 */
export async function deny(
  deps: DecideDeps,
  session: Session,
  id: string,
  turnOff: boolean,
): Promise<OwnerApproval> {
  const { db, now, metrics } = deps
  const seconds = await db.write(async (tx) => {
    const at = now()
    await assertStillSignedIn(tx, session)
    const approval = await assertUndecided(tx, session, id, at)
    const waited = await decide(tx, session, approval, { state: 'denied' }, at)
    if (turnOff) await switchAsking(deps, tx, session.ownerId, approval.tail as Tail, false, at)
    return waited
  })
  metrics.approvals.add('denied')
  metrics.approvalDecisions.observe(seconds)
  return getOwnApproval(deps, session.ownerId, id)
}

/** What is true in this transaction. */
async function assertUndecided(
  tx: Tx,
  { ownerId }: Session,
  id: string,
  at: number,
): Promise<CurrentApproval> {
  const row = await requireOwnApproval(tx.db, ownerId, id)
  assertPending(row, at)
  return row
}

/** @throws CodedError CONFLICT, TOKEN_EXPIRED, AGENT_NOT_ACTIVE */
function assertPending(row: CurrentApproval, at: number): void {
  const state = stateOf(row, at)
  if (state === 'pending') return
  if (row.decided_at !== null) {
    throw new CodedError('CONFLICT', `This request was already ${row.state}.`)
  }
  if (state === 'expired') {
    throw new CodedError('TOKEN_EXPIRED', 'The time to decide is over. The agent can ask again.')
  }
  throw new CodedError(
    'AGENT_NOT_ACTIVE',
    'This request was cancelled: the agent is not active, has another key or another owner, or may no longer ask.',
  )
}

/** @returns how long the agent has waited, in seconds */
async function decide(
  tx: Tx,
  { membership }: Session,
  { id, tail, created_at }: CurrentApproval,
  decision: Omit<Decision, 'decided_at' | 'decided_by'>,
  at: number,
): Promise<number> {
  const decided = { ...decision, decided_at: at, decided_by: membership?.id ?? null }
  if (!(await decideApproval(tx, id, decided, at))) {
    throw new CodedError('CONFLICT', 'This request was decided meanwhile.')
  }
  await changeAgent(tx, tail, { type: 'agent.approval_decided' }, at)
  return (at - created_at) / 1000
}

/**
 * Lets an agent ask for approvals, or not any more. Turning it off cancels what is pending, and ends all mandates.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, UNAUTHENTICATED; to turn it on: RECENT_SIGN_IN_REQUIRED, AGENT_NOT_ACTIVE if the agent is
 *   revoked, FORBIDDEN if the owner is suspended
 */
export async function setApprovals(
  deps: Pick<CoreDeps, 'db' | 'site' | 'now'>,
  session: Session,
  reference: string,
  enabled: boolean,
): Promise<ApprovalsSetting> {
  const { db, site, now } = deps
  const { ownerId } = session
  const tail = tailOf(site.naming, reference)
  const changedAt = await db.write(async (tx) => {
    const at = now()
    await assertStillSignedIn(tx, session)
    const agent = await requireOwn(tx.db, ownerId, tail)
    if ((agent.approvals === 1) === enabled) return null
    if (enabled) {
      assertRecentSignIn(session, at)
      await assertOwnerNotSuspended(tx.db, ownerId)
      if (agent.status === 'revoked') {
        throw new CodedError('AGENT_NOT_ACTIVE', 'This agent is revoked: it cannot ask.')
      }
    }
    await switchAsking(deps, tx, ownerId, tail, enabled, at)
    return at
  })
  return { enabled, changedAt: timestampOrNull(changedAt) }
}

async function switchAsking(
  { site }: Pick<CoreDeps, 'site'>,
  tx: Tx,
  ownerId: number,
  tail: Tail,
  enabled: boolean,
  at: number,
): Promise<void> {
  await setAsking(tx, tail, enabled ? 1 : 0)
  // Turning it on too: asking is turned off without this function when another owner takes the agent over.
  await endMandatesOfAgent(tx, tail, at)
  if (!enabled) {
    const pending = await storedAsPending(tx.db, tail)
    const ids = pending.map(({ id }) => id)
    await endApprovals(tx, ids, 'cancelled')
  }
  await recordAccountActivity(tx, {
    ownerId,
    type: enabled ? 'owner.approvals_turned_on' : 'owner.approvals_turned_off',
    details: { agent: didOfAgent(site, tail) },
    at,
  })
}
