import { hashToken } from '../../base/hash-token.ts'
import type { Database, FlowRow } from '../../database/database.ts'
import { CallbackRefusal } from './callback-failure.ts'
import {
  deleteExpiredFlows,
  deleteFlow,
  flowByHash,
  flowByReference,
  insertFlow,
} from './session-table.ts'

/** Long enough to fetch a phone, or to complete the steps at most identity providers. */
export const FLOW_LIFETIME_MS = 15 * 60_000

/** The kind of an identity flow that the provider's webhook has already decided, while the browser is still away. */
export const IDENTITY_DECIDED = 'identity-settled'

export interface FlowDeps {
  readonly db: Database
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

export type FlowKind =
  | 'passkey-sign-up'
  | 'passkey-add'
  | 'provider-sign-in'
  | 'provider-sign-up'
  | 'organisation-sign-in'
  | 'identity'
  | typeof IDENTITY_DECIDED

/** A pending sign-in, sign-up or verification, which the browser that began it completes once. */
export interface Flow<S> {
  readonly kind: FlowKind
  /** The signed-in owner who began it, or null. */
  readonly ownerId: number | null
  readonly provider: string | null
  /** The provider's name for it in webhooks, or null. */
  readonly reference: string | null
  readonly state: S
}

/**
 * Stores a flow.
 * @param lifetimeMs milliseconds until it expires
 * @returns the token for the flow cookie, base64url; the database stores its SHA-256
 */
export async function beginFlow<S extends object>(
  deps: FlowDeps,
  flow: Omit<Flow<S>, 'reference' | 'provider'> & Partial<Flow<S>>,
  lifetimeMs = FLOW_LIFETIME_MS,
): Promise<string> {
  const token = Buffer.from(deps.randomBytes(32)).toString('base64url')
  const at = deps.now()
  const row: FlowRow = {
    hash: hashToken(token),
    kind: flow.kind,
    owner_id: flow.ownerId,
    provider: flow.provider ?? null,
    reference: flow.reference ?? null,
    state: JSON.stringify(flow.state),
    expires_at: at + lifetimeMs,
  }
  await deps.db.write(async (tx) => {
    await deleteExpiredFlows(tx, at)
    await insertFlow(tx, row)
  })
  return token
}

/**
 * Deletes a flow and returns it. Even if completing it fails, it cannot be used again.
 * @param token from the flow cookie, or null
 * @throws CodedError VALIDATION_ERROR if there is no such flow, or it has expired or is of another kind, owner or provider
 */
export async function consumeFlow<S>(
  deps: FlowDeps,
  token: string | null,
  expected: Expected,
): Promise<Flow<S>> {
  const row =
    token === null ? undefined : await deps.db.write((tx) => deleteFlow(tx, hashToken(token)))
  return validateFlow(row, deps.now(), expected)
}

/** A flow that stays stored until its outcome is recorded. */
export interface StoredFlow<S> extends Flow<S> {
  /** Identifies the row in the transaction that records the outcome. */
  readonly hash: Uint8Array
}

/**
 * Reads a flow without deleting it, for outcomes that may be recorded later, such as by a webhook.
 * @param token from the flow cookie, or null
 * @throws CodedError VALIDATION_ERROR if there is no such flow, or it has expired or is of another kind, owner or provider
 */
export async function readFlow<S>(
  deps: FlowDeps,
  token: string | null,
  expected: Expected,
): Promise<StoredFlow<S>> {
  const hash = hashToken(token ?? '')
  const row = token === null ? undefined : await flowByHash(deps.db.read, hash)
  return { ...validateFlow<S>(row, deps.now(), expected), hash }
}

/** The id of the owner who began a flow; null if nobody did, or there is no such flow. */
export async function ownerOfFlow(
  { db }: Pick<FlowDeps, 'db'>,
  token: string | null,
): Promise<number | null> {
  if (token === null) return null
  return (await flowByHash(db.read, hashToken(token)))?.owner_id ?? null
}

/** Finds a flow by the provider's reference. Null if there is none, or it has expired or is of another kind. */
export async function findFlowByReference<S>(
  deps: FlowDeps,
  kind: FlowKind,
  provider: string,
  reference: string,
): Promise<StoredFlow<S> | null> {
  const row = await flowByReference(deps.db.read, provider, reference)
  if (row === undefined || row.expires_at <= deps.now() || row.kind !== kind) return null
  return { ...validateFlow<S>(row, deps.now(), { kinds: [kind] }), hash: row.hash }
}

/** What a flow must match. */
interface Expected {
  readonly kinds: readonly FlowKind[]
  readonly ownerId?: number
  readonly provider?: string
}

function validateFlow<S>(row: FlowRow | undefined, now: number, expected: Expected): Flow<S> {
  if (row === undefined || row.expires_at <= now || !isExpected(row, expected)) {
    throw new CallbackRefusal(
      'flow-expired',
      'This took too long, or started in another browser. Start again.',
    )
  }
  return {
    kind: row.kind as FlowKind,
    ownerId: row.owner_id,
    provider: row.provider,
    reference: row.reference,
    state: JSON.parse(row.state) as S,
  }
}

function isExpected(row: FlowRow, { kinds, ownerId, provider }: Expected): boolean {
  if (!(kinds as readonly string[]).includes(row.kind)) return false
  if (ownerId !== undefined && row.owner_id !== ownerId) return false
  return provider === undefined || row.provider === provider
}
