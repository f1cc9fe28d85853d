import { CodedError } from '@countersign/protocol'
import { hashToken } from '../core/crypto/hash-token.ts'
import type { Database, FlowRow } from '../core/database/database.ts'
import {
  deleteExpiredFlows,
  flowByHash,
  flowByReference,
  insertFlow,
  takeFlow,
} from './flow-table.ts'

/** Long enough to find one's phone, and for most identity providers. */
export const FLOW_LIFETIME_MS = 15 * 60_000

/** A verification that a provider's call has settled, before its browser was back. */
export const SETTLED = 'identity-settled'

export interface FlowDeps {
  readonly db: Database
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

export type FlowKind =
  | 'passkey-sign-up'
  | 'passkey-sign-in'
  | 'passkey-add'
  | 'provider-sign-in'
  | 'provider-sign-up'
  | 'identity'
  | typeof SETTLED

/** Something that was begun in a browser and is to be completed there, once. */
export interface Flow<S> {
  readonly kind: FlowKind
  /** Who began it, or null: nobody was signed in. */
  readonly ownerId: number | null
  readonly provider: string | null
  /** What a webhook of the provider will call it. */
  readonly reference: string | null
  readonly state: S
}

/** @returns what the browser keeps in a cookie until it comes back; the database holds its SHA-256 */
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
 * Takes a flow to complete it. Whatever comes of it, it cannot be used again.
 * @param expected what it must have been begun as, and by whom
 * @throws CodedError VALIDATION_ERROR where there is none such, or none any more
 */
export async function completeFlow<S>(
  deps: FlowDeps,
  token: string | null,
  expected: Expected,
): Promise<Flow<S>> {
  const row =
    token === null ? undefined : await deps.db.write((tx) => takeFlow(tx, hashToken(token)))
  return flowOf(row, deps.now(), expected)
}

/** A flow that is not taken until what it is about has been decided. */
export interface OpenFlow<S> extends Flow<S> {
  /** For the transaction that records the outcome. */
  readonly hash: Uint8Array
}

/**
 * Looks at a flow that may have to wait, since its provider is to call later.
 * @throws CodedError VALIDATION_ERROR where there is none such, or none any more
 */
export async function openFlow<S>(
  deps: FlowDeps,
  token: string | null,
  expected: Expected,
): Promise<OpenFlow<S>> {
  const hash = hashToken(token ?? '')
  const row = token === null ? undefined : await flowByHash(deps.db.read, hash)
  return { ...flowOf<S>(row, deps.now(), expected), hash }
}

/** The flow that a provider calls by its own name, or null where there is none, or none any more. */
export async function flowOfReference<S>(
  deps: FlowDeps,
  kind: FlowKind,
  provider: string,
  reference: string,
): Promise<OpenFlow<S> | null> {
  const row = await flowByReference(deps.db.read, provider, reference)
  if (row === undefined || row.expires_at <= deps.now() || row.kind !== kind) return null
  return { ...flowOf<S>(row, deps.now(), { kinds: [kind] }), hash: row.hash }
}

/** What a flow must have been begun as, and by whom. */
interface Expected {
  readonly kinds: readonly FlowKind[]
  readonly ownerId?: number
  readonly provider?: string
}

function flowOf<S>(row: FlowRow | undefined, now: number, expected: Expected): Flow<S> {
  if (row === undefined || row.expires_at <= now || !isExpected(row, expected)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'This was begun too long ago, or in another browser. Begin again.',
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
