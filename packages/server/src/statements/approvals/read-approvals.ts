import {
  type ApprovalProgress,
  type ApprovalState,
  approvalStatement,
  CodedError,
  type OwnerApproval,
  type OwnerApprovals,
  type Tail,
} from '@countersign/protocol'
import { liveMemberNames } from '../../accounts/organisations/membership-table.ts'
import { displayNameOf } from '../../agents/card.ts'
import { didOfAgent, type Site } from '../../base/site.ts'
import { timestamp, timestampOrNull } from '../../base/timestamp.ts'
import type { Db } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'
import {
  approvalById,
  approvalsOfOwner,
  type CurrentApproval,
  hasApproved,
  undecidedOfOwner,
} from './approval-table.ts'
import { statementsOfOwner } from './mandate-table.ts'
import { approvalToken, approvedBy, tokenExpiry } from './token.ts'

/** The form of an id: PostgreSQL fails on U+0000. */
const ID = /^ap_[A-Za-z0-9_-]{22}$/
const PAGE_SIZE = 30
const ALL = Number.MAX_SAFE_INTEGER

/**
 * What has become of a request, as of now: nothing else needs to know of approvals.
 * @param now milliseconds since 1970
 */
export function stateOf(row: CurrentApproval, now: number): ApprovalState {
  const { state } = row
  if (state === 'approved') {
    return isTokenOver(row, now) || mayStillAsk(row) ? 'approved' : 'cancelled'
  }
  if (state !== 'pending') return state
  if (row.expires_at <= now) return 'expired'
  return mayStillAsk(row) ? 'pending' : 'cancelled'
}

/** Whether an agent is as it was when it asked: active, with the same key and owner, who is not suspended and lets it ask. */
export function mayStillAsk(
  row: Pick<
    CurrentApproval,
    | ('agent_status' | 'agent_owner' | 'agent_key' | 'agent_approvals')
    | ('owner_id' | 'key_sequence' | 'owner_suspended_at')
  >,
): boolean {
  return (
    row.agent_status === 'active' &&
    row.agent_owner === row.owner_id &&
    row.agent_key === row.key_sequence &&
    row.agent_approvals === 1 &&
    row.owner_suspended_at === null
  )
}

function isTokenOver(row: CurrentApproval, now: number): boolean {
  return (tokenExpiry(row) ?? 0) * 1000 <= now
}

export interface ReadApprovalDeps extends Pick<CoreDeps, 'db' | 'site' | 'now'> {
  readonly issuerKeys: IssuerKeys
}

/**
 * The state of an approval for a client that knows its id, with its token while sites accept it.
 * @throws CodedError NOT_FOUND, UNAVAILABLE; StorageFailure
 */
export async function readProgress(
  { db, site, now, issuerKeys }: ReadApprovalDeps,
  id: string,
): Promise<ApprovalProgress> {
  const row = await requireApproval(db.pointReads, id)
  const at = now()
  const state = stateOf(row, at)
  const progress = { id, state, expiresAt: timestamp(row.expires_at) }
  const expiry = state === 'approved' ? tokenExpiry(row) : null
  if (expiry === null || expiry * 1000 <= at) return progress
  const token = approvalToken(site, issuerKeys, row)
  return { ...progress, token, tokenExpiresAt: timestamp(expiry * 1000) }
}

/** @throws CodedError NOT_FOUND */
async function requireApproval(db: Db, id: string): Promise<CurrentApproval> {
  const row = ID.test(id) ? await approvalById(db, id) : undefined
  if (row !== undefined) return row
  throw new CodedError('NOT_FOUND', 'There is no such approval.')
}

/** @throws CodedError NOT_FOUND, also for an approval of another owner */
export async function requireOwnApproval(
  db: Db,
  ownerId: number,
  id: string,
): Promise<CurrentApproval> {
  const row = ID.test(id) ? await approvalById(db, id) : undefined
  if (row?.owner_id === ownerId) return row
  throw new CodedError('NOT_FOUND', 'You have no such approval.')
}

/** What an owner's list shows. */
export interface ListQuery {
  /** Only those that wait for a decision. */
  readonly state?: 'pending'
  /** `next` of the page before. Any other text gives the first page. */
  readonly before?: string
}

/** A page of an owner's approvals, newest first. */
export async function listApprovals(
  { db, site, now }: Pick<CoreDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
  { state, before }: ListQuery,
): Promise<OwnerApprovals> {
  const at = now()
  const undecided = await undecidedOfOwner(db.read, ownerId, at)
  const waiting = undecided.filter((row) => stateOf(row, at) === 'pending')
  const pending = waiting.length
  if (state === 'pending') {
    return { approvals: waiting.map((row) => summaryOf(site, row, at)), pending, next: null }
  }
  const after = /^\d{1,15}$/.test(before ?? '') ? Number(before) : ALL
  const rows = await approvalsOfOwner(db.read, ownerId, after, PAGE_SIZE + 1)
  const page = rows.slice(0, PAGE_SIZE)
  const last = page.at(-1)
  return {
    approvals: page.map((row) => summaryOf(site, row, at)),
    pending,
    next: rows.length > PAGE_SIZE && last !== undefined ? String(last.seq) : null,
  }
}

/** An approval as its owner sees it. @throws CodedError NOT_FOUND */
export async function getOwnApproval(
  { db, site, now }: Pick<CoreDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
  id: string,
): Promise<OwnerApproval> {
  const row = await requireOwnApproval(db.read, ownerId, id)
  return {
    ...summaryOf(site, row, now()),
    ...(await detailsOf(db.read, row)),
    firstForOrigin: !(await hasApproved(db.read, row)),
  }
}

function summaryOf(site: Site, row: CurrentApproval, now: number) {
  const expiry = tokenExpiry(row)
  const { display_name: displayName, username } = row
  const tail = row.tail as Tail
  return {
    id: row.id,
    agent: didOfAgent(site, tail),
    displayName: displayNameOf({ tail, profile: { displayName, username } }),
    state: stateOf(row, now),
    by: row.state === 'approved' ? approvedBy(row) : null,
    method: row.method,
    url: row.url,
    createdAt: timestamp(row.created_at),
    expiresAt: timestamp(row.expires_at),
    decidedAt: timestampOrNull(row.decided_at),
    tokenExpiresAt: timestampOrNull(expiry === null ? null : expiry * 1000),
  }
}

async function detailsOf(db: Db, row: CurrentApproval) {
  const names = await liveMemberNames(db, row.decided_by === null ? [] : [row.decided_by])
  return {
    service: row.service,
    contentType: row.content_type,
    body: row.body,
    bodyDigest: row.body_digest,
    message: row.message,
    messageDigest: row.message_digest,
    salt: row.salt,
    decidedBy: names.get(row.decided_by ?? '')?.displayName ?? null,
    validSeconds: row.valid_seconds,
    assertion: assertionOf(row),
    mandate: row.mandate_id,
  }
}

/** The bytes of a stored assertion in base64url; null: there is none. */
export function assertionOf(
  row: Pick<CurrentApproval, 'passkey_key' | 'client_data' | 'authenticator_data' | 'signature'>,
) {
  const { passkey_key, client_data, authenticator_data, signature } = row
  if (passkey_key === null || client_data === null) return null
  return {
    publicKey: base64Url(passkey_key),
    clientData: base64Url(client_data),
    authenticatorData: base64Url(authenticator_data as Uint8Array),
    signature: base64Url(signature as Uint8Array),
  }
}

function base64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}

/** The statement that a passkey signs, from the row and nothing else. */
export function statementOf(site: Site, row: CurrentApproval): string {
  return approvalStatement({
    agent: didOfAgent(site, row.tail as Tail),
    approval: row.id,
    body: row.body_digest,
    contentType: row.content_type,
    message: row.message_digest,
    method: row.method,
    salt: row.salt,
    seconds: row.valid_seconds,
    service: row.service,
    url: row.url,
  })
}

/** All approvals of an owner, oldest first, for the export of the account. */
export async function exportApprovals(
  { db, site, now }: Pick<CoreDeps, 'db' | 'site' | 'now'>,
  ownerId: number,
) {
  const rows = await approvalsOfOwner(db.read, ownerId, ALL, ALL)
  const mandates = await statementsOfOwner(db.read, ownerId)
  const exported = []
  for (const row of rows.reverse()) {
    exported.push({
      ...summaryOf(site, row, now()),
      ...(await detailsOf(db.read, row)),
      statement: mandates.get(row.mandate_id ?? '') ?? statementOf(site, row),
    })
  }
  return exported
}
