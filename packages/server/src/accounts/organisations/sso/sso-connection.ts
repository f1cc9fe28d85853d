import {
  CodedError,
  randomBase58,
  type SsoConnection,
  type SsoConnectionRequest,
  type SsoConnectionResult,
} from '@countersign/protocol'
import { timestamp } from '../../../base/timestamp.ts'
import type { Tx } from '../../../database/database.ts'
import type { SsoConnectionRow } from '../../../database/schema/organisation-rows.ts'
import type { CoreDeps } from '../../../secrets/core-deps.ts'
import { seal } from '../../../secrets/seal.ts'
import { notifyOfAccess } from '../../notify-of-access.ts'
import { ownerById } from '../../owner-table.ts'
import { assertAdminLeft } from '../../owners/keep-admin.ts'
import type { MemberSession } from '../../owners/session.ts'
import { deleteSessionsLimitedTo } from '../../owners/session-table.ts'
import { deleteSignInIdentitiesOf } from '../../owners/sign-in-method-table.ts'
import { endMembership } from '../end-membership.ts'
import { membershipsBySso } from '../membership-table.ts'
import { SECRET_PURPOSE, type SsoClients, secretOf } from './sso-clients.ts'
import {
  connectionOf,
  deleteConnection,
  insertConnection,
  updateConnection,
} from './sso-connection-table.ts'

export interface SsoDeps extends CoreDeps {
  readonly ssoClients: SsoClients
}

const ID_LENGTH = 16
const NONCE_BYTES = 12

/** The provider of sign-in identities and flows of a connection: no other connection takes its responses. */
export function providerIdOf(connectionId: string): string {
  return `sso:${connectionId}`
}

/** The redirect URI of a connection. */
export function callbackUrlOf({ site }: Pick<CoreDeps, 'site'>, connectionId: string): string {
  return `${site.baseUrl}/sign-in/organisation/${connectionId}`
}

/** The connection of the organisation that a session acts for, without its secret. */
export async function describeConnection(
  deps: SsoDeps,
  { ownerId }: MemberSession,
): Promise<{ connection: SsoConnection | null }> {
  const row = await connectionOf(deps.db.read, ownerId)
  return { connection: row === undefined ? null : await describe(deps, row) }
}

async function describe(deps: SsoDeps, row: SsoConnectionRow): Promise<SsoConnection> {
  const organisation = await ownerById(deps.db.read, row.org_id)
  return {
    issuer: row.issuer,
    clientId: row.client_id,
    hasSecret: row.sealed_secret !== null,
    groupClaim: row.group_claim,
    roleMap: JSON.parse(row.role_map) as SsoConnection['roleMap'],
    subjectClaim: row.subject_claim,
    callbackUrl: callbackUrlOf(deps, row.id),
    signInUrl: `${deps.site.baseUrl}/dashboard/sign-in?organisation=${organisation?.username}`,
    createdAt: timestamp(row.created_at),
    updatedAt: timestamp(row.updated_at),
  }
}

/**
 * Connects an organisation to its identity provider, or changes the connection. Another issuer or client is another connection.
 * @throws CodedError VALIDATION_ERROR if the identity provider cannot be used, CONFLICT if the organisation has no emergency
 *   admin, and those of a write for an organisation
 */
export async function connectSso(
  deps: SsoDeps,
  session: MemberSession,
  request: SsoConnectionRequest,
): Promise<SsoConnectionResult> {
  const { db, now } = deps
  const before = await connectionOf(db.read, session.ownerId)
  const secret = secretFor(deps, request, before)
  const { issuer, clientId, groupClaim } = request
  const client = await deps.ssoClients.open({ issuer, clientId, secret, groupClaim })
  const checks = await client.check()
  const failed = checks.find(({ ok, isNeeded }) => isNeeded && !ok)
  if (failed !== undefined) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `The identity provider cannot be used (${failed.name}): ${failed.detail}`,
    )
  }
  const row = await db.write(async (tx) => {
    const at = now()
    const stored = await replaceConnection(deps, tx, session.ownerId, { request, secret, at })
    await assertAdminLeft(tx, session.ownerId)
    const { host } = new URL(issuer)
    await notifyOfAccess(tx, session, { type: 'owner.sso_connected', host }, at)
    return stored
  })
  const described = checks.map(({ name, ok, detail }) => ({ name, ok, detail }))
  return { ...(await describe(deps, row)), checks: described }
}

/** The secret to use: without one in the request, that of the same connection. */
function secretFor(
  { pepper }: SsoDeps,
  request: SsoConnectionRequest,
  before: SsoConnectionRow | undefined,
): string | null {
  if (request.clientSecret !== undefined) return request.clientSecret
  return before !== undefined && isSame(before, request) ? secretOf(pepper, before) : null
}

function isSame(row: SsoConnectionRow, { issuer, clientId }: SsoConnectionRequest): boolean {
  return row.issuer === issuer && row.client_id === clientId
}

interface NewConnection {
  readonly request: SsoConnectionRequest
  readonly secret: string | null
  readonly at: number
}

async function replaceConnection(
  { pepper, randomBytes }: SsoDeps,
  tx: Tx,
  orgId: number,
  { request, secret, at }: NewConnection,
): Promise<SsoConnectionRow> {
  const before = await connectionOf(tx.db, orgId)
  const kept = before !== undefined && isSame(before, request) ? before : undefined
  const id = kept?.id ?? randomBase58(ID_LENGTH, randomBytes)
  const sealed =
    secret === null
      ? null
      : seal(pepper, SECRET_PURPOSE, Buffer.from(secret), id, randomBytes(NONCE_BYTES))
  const row: SsoConnectionRow = {
    id,
    org_id: orgId,
    issuer: request.issuer,
    client_id: request.clientId,
    sealed_secret: sealed,
    group_claim: request.groupClaim,
    role_map: JSON.stringify(request.roleMap),
    subject_claim: request.subjectClaim,
    created_at: kept?.created_at ?? at,
    // Always another value, by which nodes notice that their client is out of date.
    updated_at: Math.max(at, (kept?.updated_at ?? 0) + 1),
  }
  if (kept !== undefined) {
    const { id: _id, org_id, created_at, ...values } = row
    await updateConnection(tx, id, values)
    return row
  }
  if (before !== undefined) await endConnection(tx, before, at)
  await insertConnection(tx, row)
  return row
}

/** Ends the connection of an organisation. @throws CodedError NOT_FOUND if it has none */
export async function disconnectSso(
  { db, now }: Pick<SsoDeps, 'db' | 'now'>,
  { ownerId }: MemberSession,
): Promise<void> {
  await db.write(async (tx) => {
    const connection = await connectionOf(tx.db, ownerId)
    if (connection === undefined) {
      throw new CodedError('NOT_FOUND', 'The organisation has no identity provider.')
    }
    await endConnection(tx, connection, now())
  })
}

/** Ends a connection with its links, its sessions, and the memberships that depend on it. */
async function endConnection(
  tx: Tx,
  { id, org_id: orgId }: SsoConnectionRow,
  at: number,
): Promise<void> {
  await deleteConnection(tx, id)
  await deleteSignInIdentitiesOf(tx, providerIdOf(id))
  await deleteSessionsLimitedTo(tx, orgId)
  for (const { id: membership } of await membershipsBySso(tx.db, orgId)) {
    await endMembership(tx, membership, 'sso_ended', at)
  }
}
