import { CodedError } from '@countersign/protocol'
import type { Database, FlowRow } from '../storage/database.ts'
import { deleteExpiredFlows, insertFlow, takeFlow } from '../storage/flows.ts'
import { hashOfSecret } from './session.ts'

/** Long enough to find one's phone, and for most identity providers. */
export const FLOW_LIFETIME_MS = 15 * 60_000

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
    hash: hashOfSecret(token),
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
  expected: {
    readonly kinds: readonly FlowKind[]
    readonly ownerId?: number
    readonly provider?: string
  },
): Promise<Flow<S>> {
  const row =
    token === null ? undefined : await deps.db.write((tx) => takeFlow(tx, hashOfSecret(token)))
  if (row === undefined || row.expires_at <= deps.now() || !isExpected(row, expected)) {
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

function isExpected(
  row: FlowRow,
  { kinds, ownerId, provider }: Parameters<typeof completeFlow>[2],
): boolean {
  if (!(kinds as readonly string[]).includes(row.kind)) return false
  if (ownerId !== undefined && row.owner_id !== ownerId) return false
  return provider === undefined || row.provider === provider
}
