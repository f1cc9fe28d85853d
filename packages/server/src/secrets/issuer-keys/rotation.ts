import { CodedError, type IssuerJwk, TOKEN_CLOCK_SKEW } from '@countersign/protocol'
import type { Database, Db, IssuerKeyReportRow, IssuerKeyRow, Tx } from '../../database/database.ts'
import { readSharedSecrets } from '../secret-files.ts'
import type { SecretFolders } from '../secrets.ts'
import {
  deleteIssuerKeyReports,
  insertIssuerKey,
  issuerKeyReports,
  issuerKeyRows,
  markAllCompromised,
  updateIssuerKey,
} from './issuer-key-table.ts'
import {
  createIssuerKey,
  deleteIssuerKey,
  type IssuerKeyPair,
  issuerKeyFile,
  issuerKeyIdOf,
  readIssuerKey,
} from './key-pair.ts'

/** How long verifiers may use a key set before they fetch it again. jose uses one for 10 minutes. */
export const KEY_SET_LIFETIME_MS = 10 * 60_000
/** A node that has not reported for this long no longer delays a rotation: it reads the state of the rotation before it signs again. */
const REPORT_LIFETIME_MS = 60_000
/** Nodes that sign with the previous key until they notice the rotation. */
const NOTICE_MS = 60_000

interface Parts {
  readonly db: Database
  readonly folders: SecretFolders
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** How a rotation treats the keys until now. `compromised` takes them out of the key set at once. */
export type RotationKind = 'regular' | 'compromised'

/**
 * Makes a key pair in the data directory. It is published, and becomes active once every node holds it; with `compromised`, it is
 * active at once, and all other keys leave the key set.
 * @throws CodedError CONFLICT if a rotation is under way
 */
export async function rotateIssuerKey(parts: Parts, kind: RotationKind): Promise<IssuerKeyRow> {
  const { db, folders, now } = parts
  const { dataDir } = folders
  const pair = createIssuerKey(dataDir)
  try {
    return await db.write(async (tx) => {
      if (kind === 'compromised') await markAllCompromised(tx, now())
      const rows = await issuerKeyRows(tx.db)
      if (rows.some(({ state }) => state === 'published')) {
        throw new CodedError(
          'CONFLICT',
          'A rotation is under way: countersignd issuer-key list shows what it waits for.',
        )
      }
      const hasActive = rows.some(({ state }) => state === 'active')
      return insert(tx, pair, hasActive ? 'published' : 'active', now())
    })
  } catch (error) {
    deleteIssuerKey(dataDir, pair.id)
    throw error
  }
}

/**
 * Gives the database its first key pair, unless it has one: that of the file `issuer-key-*` of this node, else a new one. If several nodes
 * start first at the same time, the database decides which key stays.
 * @throws CodedError VALIDATION_ERROR if there are several such files, or it has other contents than its name says
 */
export async function ensureIssuerKey({ db, folders, now }: Parts): Promise<void> {
  if ((await issuerKeyRows(db.read)).length > 0) return
  const existing = firstIssuerKey(folders)
  const pair = existing ?? createIssuerKey(folders.dataDir)
  const isStored = await db.write(async (tx) => {
    const rows = await issuerKeyRows(tx.db)
    if (rows.length > 0) return rows.some(({ id }) => id === pair.id)
    await insert(tx, pair, 'active', now())
    return true
  })
  if (!isStored && existing === null) deleteIssuerKey(folders.dataDir, pair.id)
}

/** @returns null if this node has no issuer key */
function firstIssuerKey(folders: SecretFolders): IssuerKeyPair | null {
  const ids = [...readSharedSecrets(folders).keys()].flatMap((name) => issuerKeyIdOf(name) ?? [])
  const [id] = ids
  if (id === undefined) return null
  const pair = readIssuerKey(folders, id)
  if (ids.length === 1 && typeof pair !== 'string') return pair
  throw new CodedError(
    'VALIDATION_ERROR',
    ids.length > 1
      ? `The database has no issuer key yet, and there are several: ${ids.map(issuerKeyFile).join(', ')}. Move all but one away.`
      : `${issuerKeyFile(id)} does not hold the key of its name. Restore it, or move it away.`,
  )
}

async function insert(
  tx: Tx,
  { id, jwks }: IssuerKeyPair,
  state: 'published' | 'active',
  now: number,
): Promise<IssuerKeyRow> {
  const row: IssuerKeyRow = {
    id,
    jwks: JSON.stringify([jwks.EdDSA, jwks.ES256]),
    state,
    published_at: now,
    activated_at: state === 'active' ? now : null,
    ended_at: null,
    remove_at: null,
  }
  await insertIssuerKey(tx, row)
  return row
}

/** The public keys of a row. */
export function jwksOf({ jwks }: IssuerKeyRow): IssuerJwk[] {
  return JSON.parse(jwks) as IssuerJwk[]
}

/** Whether a key is in the key set. */
export function isPublished({ state }: IssuerKeyRow): boolean {
  return state === 'published' || state === 'active' || state === 'retired'
}

/** When a published key can become active, and what that waits for. */
export interface Readiness {
  /** Processes that have reported lately and lack the file of the key. */
  readonly nodesWithoutFile: number
  readonly nodesWithFile: number
  /** The earliest time. Null if a file is missing, or no node has reported. */
  readonly activeFrom: number | null
}

/** A key becomes active once each node has published it for as long as verifiers use a key set. */
function readinessOf(
  { published_at }: IssuerKeyRow,
  reports: readonly IssuerKeyReportRow[],
  now: number,
): Readiness {
  const current = reports.filter(({ seen_at }) => seen_at > now - REPORT_LIFETIME_MS)
  const since = current.flatMap(({ held_since }) => (held_since === null ? [] : [held_since]))
  const nodesWithoutFile = current.length - since.length
  const isHeld = since.length > 0 && nodesWithoutFile === 0
  return {
    nodesWithoutFile,
    nodesWithFile: since.length,
    activeFrom: isHeld ? Math.max(published_at, ...since) + KEY_SET_LIFETIME_MS : null,
  }
}

/** Reads when a published key can become active. */
export async function readReadiness(db: Db, row: IssuerKeyRow, now: number): Promise<Readiness> {
  return readinessOf(row, await issuerKeyReports(db, row.id), now)
}

/**
 * Does what is due: activates a published key, removes a retired one.
 * @param certificateLifetimeMs how long a certificate may still be valid that a retired key has signed
 */
export async function advanceRotation(
  tx: Tx,
  now: number,
  certificateLifetimeMs: number,
): Promise<void> {
  const rows = await issuerKeyRows(tx.db)
  for (const { id } of rows.filter((row) => isRemovable(row, now)))
    await updateIssuerKey(tx, id, { state: 'removed' })
  const next = rows.find(({ state }) => state === 'published')
  if (next === undefined) return
  const { activeFrom } = await readReadiness(tx.db, next, now)
  if (activeFrom === null || activeFrom > now) return
  const previous = rows.find(({ state }) => state === 'active')
  const removeAt = now + certificateLifetimeMs + TOKEN_CLOCK_SKEW * 1000 + NOTICE_MS
  if (previous !== undefined) {
    await updateIssuerKey(tx, previous.id, {
      state: 'retired',
      ended_at: now,
      remove_at: removeAt,
    })
  }
  await updateIssuerKey(tx, next.id, { state: 'active', activated_at: now })
  await deleteIssuerKeyReports(tx, next.id)
}

/** Whether a retired key has been in the key set for long enough. */
export function isRemovable({ state, remove_at }: IssuerKeyRow, now: number): boolean {
  return state === 'retired' && remove_at !== null && remove_at <= now
}
