import {
  CodedError,
  type CreatedScimToken,
  isScimToken,
  MAX_SCIM_TOKENS,
  SCIM_TOKEN_DAYS,
  type ScimTokens,
  scimTokenPrefix,
} from '@countersign/protocol'
import { hashToken } from '../../../base/hash-token.ts'
import { timestamp, timestampOrNull } from '../../../base/timestamp.ts'
import type { Database, Db } from '../../../database/database.ts'
import { SCIM_BASE } from '../../../http/scim-errors.ts'
import type { CoreDeps } from '../../../secrets/core-deps.ts'
import { recordAccountActivity } from '../../account-activity-table.ts'
import { notifyOfAccess } from '../../notify-of-access.ts'
import type { MemberSession } from '../../owners/session.ts'
import { adminsOf } from '../membership-table.ts'
import {
  deleteExpiredScimTokens,
  deleteScimToken,
  insertScimToken,
  liveScimTokens,
  scimTokenByHash,
  touchScimToken,
} from './scim-token-table.ts'

const DAY_MS = 86_400_000
/** 128 bits, in hexadecimal after the prefix. */
const TOKEN_BYTES = 16
const ID_BYTES = 9
/** `last_used_at` is updated at most this often. */
const TOUCH_MS = 5 * 60_000

export type ScimDeps = Pick<CoreDeps, 'db' | 'site' | 'now' | 'randomBytes'>

/** The token that authenticated a request of SCIM. */
export interface ScimCaller {
  readonly orgId: number
  /** The id of the token. */
  readonly token: string
  /** The membership of the admin who created it. */
  readonly createdBy: string
  /** SHA-256 of the token. */
  readonly hash: Uint8Array
}

/**
 * Creates a token with which the identity provider of an organisation manages its users. The database stores its SHA-256; the
 * response is the only place where the token appears.
 * @throws CodedError CONFLICT if the organisation has no single sign-on, or 2 tokens already
 */
export async function createScimToken(
  { db, site, now, randomBytes }: ScimDeps,
  session: MemberSession,
): Promise<CreatedScimToken> {
  const { ownerId, membership } = session
  const secret =
    scimTokenPrefix(site.naming) + Buffer.from(randomBytes(TOKEN_BYTES)).toString('hex')
  const id = Buffer.from(randomBytes(ID_BYTES)).toString('base64url')
  const expiresAt = await db.write(async (tx) => {
    const at = now()
    if (!(await adminsOf(tx.db, ownerId)).hasSso) {
      throw new CodedError(
        'CONFLICT',
        'The organisation has no single sign-on. Connect its identity provider first.',
      )
    }
    await deleteExpiredScimTokens(tx, ownerId, at)
    if ((await liveScimTokens(tx.db, ownerId, at)).length >= MAX_SCIM_TOKENS) {
      throw new CodedError(
        'CONFLICT',
        `The organisation has ${MAX_SCIM_TOKENS} SCIM tokens. Delete one that you no longer use.`,
      )
    }
    const row = {
      hash: hashToken(secret),
      id,
      org_id: ownerId,
      created_by: membership.id,
      created_at: at,
      expires_at: at + SCIM_TOKEN_DAYS * DAY_MS,
      last_used_at: null,
    }
    await insertScimToken(tx, row)
    await notifyOfAccess(tx, session, { type: 'owner.scim_token_created', scimToken: id }, at)
    return row.expires_at
  })
  return { id, secret, expiresAt: timestamp(expiresAt), url: site.baseUrl + SCIM_BASE }
}

/** The live tokens of an organisation, newest first. */
export async function listScimTokens(
  { db, now }: Pick<ScimDeps, 'db' | 'now'>,
  orgId: number,
): Promise<ScimTokens> {
  const rows = await liveScimTokens(db.read, orgId, now())
  return {
    tokens: rows.map((row) => ({
      id: row.id,
      createdAt: timestamp(row.created_at),
      expiresAt: timestamp(row.expires_at),
      lastUsedAt: timestampOrNull(row.last_used_at),
    })),
  }
}

/**
 * Ends a token. It works no longer from the response on, on every node.
 * @throws CodedError NOT_FOUND
 */
export async function endScimToken(
  { db, now }: Pick<ScimDeps, 'db' | 'now'>,
  orgId: number,
  id: string,
): Promise<void> {
  await db.write(async (tx) => {
    if (!(await deleteScimToken(tx, orgId, id))) {
      throw new CodedError('NOT_FOUND', 'The organisation has no such SCIM token.')
    }
    const details = { scimToken: id }
    const type = 'owner.scim_token_ended'
    await recordAccountActivity(tx, { ownerId: orgId, type, details, at: now() })
  })
}

/**
 * Authenticates a request of SCIM, and records the use of its token. Reads the database each time, so that a token ends on every
 * node and worker at once.
 * @param authorization the header
 * @throws CodedError UNAUTHENTICATED
 */
export async function authenticateScim(
  { db, site, now }: Pick<ScimDeps, 'site' | 'now'> & { readonly db: Database },
  authorization: string | undefined,
): Promise<ScimCaller> {
  const text = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? ''
  if (!isScimToken(site.naming, text)) throw unauthenticated()
  const hash = hashToken(text)
  const at = now()
  const row = await assertScimToken(db.read, hash, at)
  if (at - (row.last_used_at ?? 0) >= TOUCH_MS) {
    await db.write((tx) => touchScimToken(tx, hash, at))
  }
  return { orgId: row.org_id, token: row.id, createdBy: row.created_by, hash }
}

/** Also checked in the transaction of each change. @throws CodedError UNAUTHENTICATED if there is no such live token */
export async function assertScimToken(db: Db, hash: Uint8Array, now: number) {
  const row = await scimTokenByHash(db, hash)
  if (row === undefined || row.expires_at <= now) throw unauthenticated()
  return row
}

function unauthenticated(): CodedError {
  return new CodedError(
    'UNAUTHENTICATED',
    'The SCIM token is missing, unknown, expired or deleted. Create one in the settings of the organisation.',
  )
}
