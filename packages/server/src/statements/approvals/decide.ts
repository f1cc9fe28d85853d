import {
  type ApprovalOptions,
  type ApprovalsSetting,
  approvalChallenge,
  CodedError,
  decodeBase64Url,
  type OwnerApproval,
  type Tail,
} from '@countersign/protocol'
import { recordAccountActivity } from '../../accounts/account-activity-table.ts'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { ownerById } from '../../accounts/owner-table.ts'
import { establishedPasskeys, isRoleEstablished } from '../../accounts/owners/established-method.ts'
import {
  assertRecentSignIn,
  assertStillSignedIn,
  type Session,
} from '../../accounts/owners/session.ts'
import { passkeyById, recordPasskeyUse } from '../../accounts/owners/sign-in-method-table.ts'
import {
  credentialOf,
  matchesUserHandle,
  relyingPartyFor,
} from '../../accounts/owners/sign-in-with-passkey.ts'
import { verifyAuthentication } from '../../accounts/owners/webauthn.ts'
import type { OwnerDeps } from '../../accounts/providers/providers.ts'
import { changeAgent } from '../../agents/changes/change-agent.ts'
import { requireOwn, tailOf } from '../../agents/find-agent.ts'
import { didOfAgent } from '../../base/site.ts'
import { timestampOrNull } from '../../base/timestamp.ts'
import type { OwnerRow, PasskeyRow, Tx } from '../../database/database.ts'
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
import { getOwnApproval, requireOwnApproval, statementOf, stateOf } from './read-approvals.ts'

export interface DecideDeps extends Pick<OwnerDeps, 'db' | 'site' | 'now' | 'serviceName'> {
  readonly metrics: Pick<RequestMetrics, 'approvals' | 'approvalDecisions'>
}

const NO_PASSKEY = 'Add a passkey. It can approve after 72 hours.'

/**
 * The passkeys with which a person can approve a request.
 * @throws CodedError NOT_FOUND; CONFLICT, TOKEN_EXPIRED or AGENT_NOT_ACTIVE if there is nothing to decide; FORBIDDEN if they have none
 */
export async function approvalOptions(
  { db, now }: DecideDeps,
  { ownerId, personId }: Session,
  id: string,
): Promise<ApprovalOptions> {
  assertPending(await requireOwnApproval(db.read, ownerId, id), now())
  const passkeys = await establishedPasskeys(db.read, personId, now())
  if (passkeys.length === 0) throw new CodedError('FORBIDDEN', NO_PASSKEY)
  return {
    allowCredentials: passkeys.map(({ credential_id, transports }) => ({
      id: credential_id,
      type: 'public-key',
      transports: JSON.parse(transports) as string[],
    })),
  }
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
  const { ownerId, personId } = session
  const row = await requireOwnApproval(db.read, ownerId, id)
  assertPending(row, now())
  const passkey = await requirePasskey(deps, personId, response)
  const person = (await ownerById(db.read, personId)) as OwnerRow
  const challenge = approvalChallenge(site.naming.shortName, statementOf(site, row))
  const use = matchesUserHandle(response, person)
    ? await verifyAuthentication(
        relyingPartyFor(deps),
        Buffer.from(challenge).toString('base64url'),
        response,
        credentialOf(passkey),
      )
    : null
  if (use === null) {
    // Of two browsers with one assertion, the second one may find the counter of the first.
    assertPending(await requireOwnApproval(db.read, ownerId, id), now())
    throw invalidAssertion()
  }
  const assertion = assertionOf(passkey, response)
  const seconds = await db.write(async (tx) => {
    const at = now()
    await assertStillSignedIn(tx, session)
    const approval = await assertUndecided(tx, session, id, at)
    if (!(await isRoleEstablished(tx.db, session, at))) {
      throw new CodedError(
        'FORBIDDEN',
        'You have had your role in this organisation for less than 72 hours. Ask another member to approve, or deny the request.',
      )
    }
    const { credential_id: credentialId, counter: counterBefore } = passkey
    // Removed, or used by another browser meanwhile.
    const isUsed = await recordPasskeyUse(tx, { credentialId, counterBefore, ...use, at })
    if (!isUsed) throw invalidAssertion()
    return decide(tx, session, approval, { state: 'approved', ...assertion }, at)
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

/** @throws CodedError INVALID_SIGNATURE if the person has no such passkey, FORBIDDEN if it is not established */
async function requirePasskey(
  { db, now }: DecideDeps,
  personId: number,
  { id }: Record<string, unknown>,
): Promise<PasskeyRow> {
  const established = await establishedPasskeys(db.read, personId, now())
  const passkey = established.find((each) => each.credential_id === id)
  if (passkey !== undefined) return passkey
  if (established.length === 0) throw new CodedError('FORBIDDEN', NO_PASSKEY)
  const young = typeof id === 'string' ? await passkeyById(db.read, id) : undefined
  if (young?.owner_id !== personId) throw invalidAssertion()
  throw new CodedError(
    'FORBIDDEN',
    'This passkey was added less than 72 hours ago. Approve with an older one.',
  )
}

function invalidAssertion(): CodedError {
  return new CodedError(
    'INVALID_SIGNATURE',
    'The passkey has not signed this request. Load the page again, and approve what it shows.',
  )
}

function assertionOf(
  passkey: PasskeyRow,
  response: Record<string, unknown>,
): Omit<Decision, 'state' | 'decided_at' | 'decided_by'> {
  const { clientDataJSON, authenticatorData, signature } = response.response as Record<
    string,
    string
  >
  const bytes = (text: string | undefined) => {
    const decoded = decodeBase64Url(text ?? '')
    if (decoded === null) throw invalidAssertion()
    return decoded
  }
  return {
    passkey_key: passkey.public_key,
    client_data: bytes(clientDataJSON),
    authenticator_data: bytes(authenticatorData),
    signature: bytes(signature),
  }
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
 * Lets an agent ask for approvals, or not any more. Turning it off cancels what is pending.
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
