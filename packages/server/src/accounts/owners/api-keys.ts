import {
  API_KEY_DEFAULT_DAYS,
  type ApiKey,
  type ApiKeyScope,
  apiKeyPrefix,
  CodedError,
  type CreatedApiKey,
  isApiKey,
  MAX_API_KEYS,
  MAX_ORGANISATION_API_KEYS,
  type NewApiKey,
} from '@countersign/protocol'
import { hashToken } from '../../base/hash-token.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { ApiKeyRow, Db, Tx } from '../../database/database.ts'
import { appendEvent } from '../../database/event-table.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { appendNotification } from '../notifications/notify-owner.ts'
import type { Caller } from '../notify-of-access.ts'
import {
  liveMemberNames,
  liveMembershipById,
  type MemberNames,
} from '../organisations/membership-table.ts'
import { assertOwnerNotSuspended } from '../owner-suspension.ts'
import {
  apiKeyByHash,
  apiKeysOfOwner,
  deleteApiKey,
  insertApiKey,
  touchApiKey,
} from './api-key-table.ts'
import { assertStillSignedIn, type Session } from './session.ts'

const DAY_MS = 86_400_000
/** 128 bits, in hexadecimal after the prefix. */
const KEY_BYTES = 16
const ID_BYTES = 9
/** `last_used_at` is updated at most this often. */
const TOUCH_MS = 5 * 60_000

/** Dependencies of everything that reads or writes API keys. */
export type ApiKeyDeps = Pick<CoreDeps, 'db' | 'site' | 'now' | 'randomBytes'>

/** What a key leaves behind, which its owner may want to end together with it. */
export interface KeyRemains {
  readonly disableWebhooksOfKey: (tx: Tx, ownerId: number, apiKey: string) => Promise<void>
}

/**
 * Creates an API key. The database stores its SHA-256; the response is the only place where the key appears.
 * @throws CodedError UNAUTHENTICATED if the session has ended, FORBIDDEN if the owner is suspended, CONFLICT if the person has
 *   20 keys already, or the organisation 100
 */
export async function createApiKey(
  { db, site, now, randomBytes }: ApiKeyDeps,
  session: Session,
  { name, scopes, expiresInDays = API_KEY_DEFAULT_DAYS }: NewApiKey,
): Promise<CreatedApiKey> {
  const { ownerId } = session
  const secret = apiKeyPrefix(site.naming) + Buffer.from(randomBytes(KEY_BYTES)).toString('hex')
  const id = Buffer.from(randomBytes(ID_BYTES)).toString('base64url')
  const row = await db.write(async (tx) => {
    await assertStillSignedIn(tx, session)
    await assertOwnerNotSuspended(tx.db, ownerId)
    assertBelowLimits(await apiKeysOfOwner(tx.db, ownerId), session)
    const at = now()
    const inserted: ApiKeyRow = {
      hash: hashToken(secret),
      id,
      owner_id: ownerId,
      name,
      scopes: scopes.join(' '),
      last_four: secret.slice(-4),
      created_by: session.membership?.id ?? null,
      created_at: at,
      last_used_at: null,
      expires_at: at + expiresInDays * DAY_MS,
    }
    await insertApiKey(tx, inserted)
    await append(tx, 'owner.api_key_created', inserted, at)
    await appendNotification(tx, {
      ownerId,
      kind: 'api_key_created',
      subject: id,
      at,
      details: { name, scopes: inserted.scopes, expiresAt: inserted.expires_at },
    })
    return inserted
  })
  return { ...describeApiKey(row, await makersOf(db.read, [row])), secret }
}

/** @throws CodedError CONFLICT */
function assertBelowLimits(keys: readonly ApiKeyRow[], { membership }: Session): void {
  const own = keys.filter(({ created_by }) => created_by === (membership?.id ?? null))
  if (own.length >= MAX_API_KEYS) {
    throw new CodedError(
      'CONFLICT',
      `You have ${MAX_API_KEYS} API keys, expired ones included. Revoke one that you no longer use.`,
    )
  }
  if (keys.length < MAX_ORGANISATION_API_KEYS) return
  throw new CodedError(
    'CONFLICT',
    `Your organisation has ${MAX_ORGANISATION_API_KEYS} API keys, expired ones included. Revoke one that nobody uses.`,
  )
}

/**
 * Revokes an API key. It works no longer from the response on, on every node.
 * @param disableWebhooks whether to disable the webhook endpoints that the key created, in the same transaction
 * @throws CodedError NOT_FOUND if the owner has no such key
 */
export async function revokeApiKey(
  { db, now, disableWebhooksOfKey }: Pick<ApiKeyDeps, 'db' | 'now'> & KeyRemains,
  ownerId: number,
  id: string,
  disableWebhooks: boolean,
): Promise<void> {
  await db.write(async (tx) => {
    const row = await deleteApiKey(tx, ownerId, id)
    if (row === undefined) throw new CodedError('NOT_FOUND', 'You have no such API key.')
    await append(tx, 'owner.api_key_revoked', row, now())
    if (disableWebhooks) await disableWebhooksOfKey(tx, ownerId, id)
  })
}

/** Without the name, which may contain anything: payloads outlive the account. */
async function append(
  tx: Tx,
  type: 'owner.api_key_created' | 'owner.api_key_revoked',
  row: ApiKeyRow,
  at: number,
): Promise<void> {
  const { id, owner_id: ownerId, expires_at } = row
  const payload = { apiKey: id, scopes: scopesOf(row), expiresAt: timestamp(expires_at) }
  await appendEvent(tx, { seq: tx.nextSeq(), at, type, tail: null, ownerId, payload })
}

/** The API keys of an owner, newest first. */
export async function listApiKeys(
  { db }: Pick<ApiKeyDeps, 'db'>,
  ownerId: number,
): Promise<ApiKey[]> {
  const rows = await apiKeysOfOwner(db.read, ownerId)
  const makers = await makersOf(db.read, rows)
  return rows.map((row) => describeApiKey(row, makers))
}

/** The members who created keys. A key ends with the membership. */
function makersOf(db: Db, keys: readonly ApiKeyRow[]): Promise<MemberNames> {
  return liveMemberNames(db, [...new Set(keys.flatMap(({ created_by }) => created_by ?? []))])
}

/** An API key as responses show it. */
function describeApiKey(row: ApiKeyRow, makers: MemberNames): ApiKey {
  const createdBy = makers.get(row.created_by ?? '')
  return {
    id: row.id,
    name: row.name,
    scopes: scopesOf(row),
    lastFour: row.last_four,
    createdAt: timestamp(row.created_at),
    expiresAt: timestamp(row.expires_at),
    lastUsedAt: row.last_used_at === null ? null : timestamp(row.last_used_at),
    ...(createdBy && { createdBy }),
  }
}

function scopesOf({ scopes }: ApiKeyRow): ApiKeyScope[] {
  return scopes.split(' ') as ApiKeyScope[]
}

/** @throws CodedError UNAUTHENTICATED if the member who created the key has left */
async function membershipOfKey(db: Db, { created_by }: ApiKeyRow): Promise<Caller['membership']> {
  if (created_by === null) return null
  const live = await liveMembershipById(db, created_by)
  if (live !== undefined) return { id: live.id, role: live.role }
  throw new CodedError('UNAUTHENTICATED', 'The member who created this API key has left.')
}

/**
 * Authenticates a request by an API key, and records its use. Reads the database each time, so that a revocation is
 * effective on every node and worker at once.
 * @param scope what the operation needs; null if no API key may use it
 * @throws CodedError FORBIDDEN if the key lacks the scope or the owner is suspended, UNAUTHENTICATED if the key is
 *   unknown, expired or revoked
 */
export async function authenticateApiKey(
  { db, site, now }: Pick<ApiKeyDeps, 'db' | 'site' | 'now'>,
  text: string,
  scope: ApiKeyScope | null,
): Promise<Caller> {
  const row = isApiKey(site.naming, text) ? await apiKeyByHash(db.read, hashToken(text)) : undefined
  const at = now()
  if (row === undefined || row.expires_at <= at) {
    throw new CodedError(
      'UNAUTHENTICATED',
      'This API key is unknown, expired or revoked. Create one on the account page of the dashboard.',
    )
  }
  if (scope === null) {
    throw new CodedError('FORBIDDEN', 'No API key can do this. Sign in on the dashboard.')
  }
  if (!scopesOf(row).includes(scope)) {
    throw new CodedError('FORBIDDEN', `This API key does not have the scope ${scope}.`)
  }
  await assertOwnerNotSuspended(db.read, row.owner_id)
  if (at - (row.last_used_at ?? 0) >= TOUCH_MS) {
    await db.write((tx) => touchApiKey(tx, row.hash, at))
  }
  const membership = await membershipOfKey(db.read, row)
  return { ownerId: row.owner_id, apiKey: row.id, membership }
}
