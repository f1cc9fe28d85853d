import {
  APPROVAL_DEFAULTS,
  APPROVAL_POLL_SECONDS,
  type ApprovalRequest,
  approvalRequestFault,
  CodedError,
  canonicalJson,
  DENIED_PAUSE_SECONDS,
  imitationIn,
  keyThumbprint,
  MANDATE_SECONDS,
  MAX_APPROVALS_PER_DAY,
  MAX_PENDING_APPROVALS,
  type RawRequest,
  type RequestedApproval,
  type Tail,
  textDigest,
} from '@countersign/protocol'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { agentByTail } from '../../agents/agent-table.ts'
import { changeAgent } from '../../agents/changes/change-agent.ts'
import { assertOwnRequest } from '../../agents/verification/own-request.ts'
import type { VerifyDeps } from '../../agents/verification/verify-challenge.ts'
import { tailOf } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { AgentRow, Tx } from '../../database/database.ts'
import type { ApprovalRow } from '../../database/schema/approval-rows.ts'
import type { RequestMetrics } from '../../http/metrics/request-metrics.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import {
  deleteOldApprovals,
  endApprovals,
  insertApproval,
  lastDecisions,
  storedAsPending,
  timesOfAsking,
  undecidedOfOwner,
} from './approval-table.ts'
import { deleteOldMandates } from './mandate-table.ts'
import { type Admission, admitByMandate } from './mandates.ts'
import { stateOf } from './read-approvals.ts'
import { assertTokenFits } from './token.ts'

export interface AskDeps extends VerifyDeps, Pick<CoreDeps, 'db' | 'randomBytes'> {
  readonly metrics: Pick<RequestMetrics, 'approvals'>
}

const ID_BYTES = 16
const SALT_BYTES = 32
const DAY_MS = 86_400_000
const OFF =
  'The owner does not let this agent ask. Ask the owner to turn on approvals for this agent.'

/** The columns that the request of the agent decides. */
type Question = Omit<
  ApprovalRow,
  'seq' | 'tail' | 'owner_id' | 'key_sequence' | 'created_at' | 'expires_at' | DecidedColumns
>
type DecidedColumns =
  | ('state' | 'decided_at' | 'decided_by' | 'mandate_id' | 'hundredths')
  | ('passkey_key' | 'client_data' | 'authenticator_data' | 'signature')

const UNDECIDED = {
  state: 'pending',
  decided_at: null,
  decided_by: null,
  passkey_key: null,
  client_data: null,
  authenticator_data: null,
  signature: null,
  mandate_id: null,
  hundredths: null,
} as const satisfies Pick<ApprovalRow, DecidedColumns>

/**
 * Asks the owner of an agent to approve one request, for the agent that signed this one. If a mandate of the owner admits the
 * request, it is approved at once.
 * @param reference the DID or tail in the URL
 * @param received the request to the service as it was received, with its body
 * @returns the approval, and whether it is new: the same question is not asked twice at once
 * @throws CodedError VALIDATION_ERROR; UNAUTHENTICATED or INVALID_SIGNATURE; FORBIDDEN if another agent or a delegate signed it, or the
 *   owner does not let the agent ask; AGENT_NOT_ACTIVE; CONFLICT if its key has changed; RATE_LIMITED; UNAVAILABLE; StorageFailure
 */
export async function askForApproval(
  deps: AskDeps,
  reference: string,
  received: RawRequest,
  request: ApprovalRequest,
): Promise<{ readonly approval: RequestedApproval; readonly isNew: boolean }> {
  const { db, site, now, metrics } = deps
  const tail = tailOf(site.naming, reference)
  const question = questionOf(deps, tail, request)
  const { method, url, content_type: contentType, body } = question
  const asked = { method, url, contentType, body }
  const keyid = await assertOwnRequest(deps, tail, received, 'This agent sends too many requests.')
  const lifetimeMs = (request.expiresInSeconds ?? APPROVAL_DEFAULTS.expiresInSeconds) * 1000
  const { row, isNew } = await db.write(async (tx) => {
    const at = now()
    const agent = await assertMayAsk(tx, tail, keyid)
    const pending = await settle(tx, tail, at)
    const same = pending.find((each) => each.request_digest === question.request_digest)
    if (same !== undefined) return { row: same, isNew: false }
    const admission = await admitByMandate(tx, agent, asked, at)
    if (admission !== null) {
      return { row: await insertAdmitted(tx, agent, question, admission, at), isNew: true }
    }
    await assertWithinLimits(tx, agent, pending, at)
    return {
      row: await insert(tx, agent, question, { at, expires_at: at + lifetimeMs }),
      isNew: true,
    }
  })
  const isAdmitted = row.mandate_id !== null
  if (isNew) metrics.approvals.add(isAdmitted ? 'approved' : 'pending')
  const approval: RequestedApproval = {
    id: row.id,
    state: isAdmitted ? 'approved' : 'pending',
    ...(isAdmitted && { by: 'mandate' }),
    expiresAt: timestamp(row.expires_at),
    approveUrl: `${site.baseUrl}/dashboard/approvals/${row.id}`,
    pollSeconds: APPROVAL_POLL_SECONDS,
  }
  return { approval, isNew }
}

/** @throws CodedError VALIDATION_ERROR */
function questionOf({ site, randomBytes }: AskDeps, tail: Tail, asked: ApprovalRequest): Question {
  const { method, url, contentType = null, body = null } = asked.request
  const { message = null, validSeconds = APPROVAL_DEFAULTS.validSeconds } = asked
  const fault = approvalRequestFault({ method, url, contentType, body }, site.baseUrl)
  if (fault !== null) throw new CodedError('VALIDATION_ERROR', fault)
  const imitation = message === null ? null : imitationIn(message)
  if (imitation !== null) {
    throw new CodedError('VALIDATION_ERROR', `The message must not contain ${imitation}.`)
  }
  const random = (bytes: number) => Buffer.from(randomBytes(bytes)).toString('base64url')
  const question = {
    id: `ap_${random(ID_BYTES)}`,
    service: site.baseUrl,
    method,
    url,
    origin: new URL(url).origin,
    content_type: contentType,
    request_digest: textDigest(canonicalJson([method, url, contentType, body, message])),
    body,
    body_digest: body === null ? null : textDigest(body),
    message,
    message_digest: message === null ? null : textDigest(message),
    salt: random(SALT_BYTES),
    valid_seconds: validSeconds,
  }
  assertTokenFits(site, { ...question, tail, decided_at: null, mandate_id: null })
  return question
}

/** What may have changed since the signature was verified, by the database. @param keyid the key that signed */
async function assertMayAsk(tx: Tx, tail: Tail, keyid: string): Promise<AgentRow> {
  const agent = await agentByTail(tx.db, tail)
  if (agent === undefined) throw new CodedError('NOT_FOUND', 'There is no agent with this DID.')
  if (agent.approvals !== 1) throw new CodedError('FORBIDDEN', OFF)
  await assertOwnerNotSuspended(tx.db, agent.owner_id)
  if (agent.status !== 'active') {
    throw new CodedError(
      'AGENT_NOT_ACTIVE',
      `This agent is ${agent.status}. Only active agents can ask for approvals.`,
    )
  }
  if (keyThumbprint(agent.public_key) === keyid) return agent
  throw new CodedError('CONFLICT', 'The key of this agent has changed. Sign with the new one.')
}

/** Stores which of an agent's pending approvals have ended. @returns those that are pending */
async function settle(tx: Tx, tail: Tail, at: number): Promise<readonly ApprovalRow[]> {
  const stored = await storedAsPending(tx.db, tail)
  const inState = (state: string) => stored.filter((each) => stateOf(each, at) === state)
  for (const state of ['expired', 'cancelled'] as const) {
    await endApprovals(
      tx,
      inState(state).map(({ id }) => id),
      state,
    )
  }
  return inState('pending')
}

/** @throws CodedError RATE_LIMITED */
async function assertWithinLimits(
  tx: Tx,
  { tail, owner_id: ownerId }: AgentRow,
  ofAgent: readonly ApprovalRow[],
  at: number,
): Promise<void> {
  const undecided = await undecidedOfOwner(tx.db, ownerId, at)
  const ofOwner = undecided.filter((each) => stateOf(each, at) === 'pending')
  for (const [pending, most, whose] of [
    [ofAgent, MAX_PENDING_APPROVALS.agent, 'This agent'],
    [ofOwner, MAX_PENDING_APPROVALS.owner, 'The owner of this agent'],
  ] as const) {
    if (pending.length < most) continue
    const first = Math.min(...pending.map((each) => each.expires_at))
    throw limited(`${whose} has ${most} approvals that wait for a decision.`, first - at)
  }
  const times = await timesOfAsking(tx.db, tail, at - DAY_MS)
  const oldest = times[MAX_APPROVALS_PER_DAY - 1]
  if (oldest !== undefined) {
    throw limited(`An agent can ask ${MAX_APPROVALS_PER_DAY} times a day.`, oldest + DAY_MS - at)
  }
  const [last, before] = await lastDecisions(tx.db, tail, ownerId, 2)
  const until = (last?.decided_at ?? 0) + DENIED_PAUSE_SECONDS * 1000
  if (last?.state === 'denied' && before?.state === 'denied' && until > at) {
    throw limited('The owner denied the last two requests.', until - at)
  }
}

function limited(why: string, waitMs: number): CodedError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new CodedError('RATE_LIMITED', `${why} Try again in ${seconds} s.`, {
    retryAfterSeconds: seconds,
  })
}

async function insert(
  tx: Tx,
  { tail, owner_id, key_sequence }: AgentRow,
  question: Question,
  { at, expires_at }: { readonly at: number; readonly expires_at: number },
): Promise<ApprovalRow> {
  const { id: approval, url, method } = question
  const { host } = new URL(url)
  const change = { type: 'agent.approval_requested', approval, host, method } as const
  const { version: seq } = await changeAgent(tx, tail, { ...change, expiresAt: expires_at }, at)
  const row: ApprovalRow = {
    ...question,
    ...UNDECIDED,
    seq,
    tail,
    owner_id,
    key_sequence,
    created_at: at,
    expires_at,
  }
  await insertApproval(tx, row)
  return row
}

/** Approves a request that a mandate admits, with the assertion of the mandate. Nobody is asked, so its event is the decision. */
async function insertAdmitted(
  tx: Tx,
  { tail, owner_id, key_sequence }: AgentRow,
  question: Question,
  { mandate, hundredths, percent }: Admission,
  at: number,
): Promise<ApprovalRow> {
  const { id, passkey_key, client_data, authenticator_data, signature } = mandate
  const type = 'agent.approval_decided' as const
  const change = percent === null ? { type } : { type, mandate: { id, percent } }
  const { version: seq } = await changeAgent(tx, tail, change, at)
  const row: ApprovalRow = {
    ...question,
    valid_seconds: Math.min(question.valid_seconds, MANDATE_SECONDS),
    seq,
    tail,
    owner_id,
    key_sequence,
    state: 'approved',
    created_at: at,
    expires_at: at,
    decided_at: at,
    decided_by: null,
    passkey_key,
    client_data,
    authenticator_data,
    signature,
    mandate_id: id,
    hundredths,
  }
  await insertApproval(tx, row)
  return row
}

/** How long bodies and messages stay after the end of an approval, and an approval after it was asked for. */
const TEXTS_MS = 30 * DAY_MS
const ROWS_MS = 400 * DAY_MS

/** Deletes what is no longer kept of approvals and mandates. */
export async function deleteOldTexts({ db, now }: Pick<CoreDeps, 'db' | 'now'>): Promise<void> {
  const at = now()
  const before = { textsBefore: at - TEXTS_MS, rowsBefore: at - ROWS_MS }
  await db.write(async (tx) => {
    await deleteOldApprovals(tx, before)
    await deleteOldMandates(tx, before.rowsBefore)
  })
}
