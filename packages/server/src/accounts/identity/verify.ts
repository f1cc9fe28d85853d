import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError, imitationIn, type VerificationBegun } from '@countersign/protocol'
import { startOfDay } from '../../base/timestamp.ts'
import type { Db } from '../../database/database.ts'
import { ownerById } from '../owner-table.ts'
import { CallbackRefusal } from '../owners/callback-failure.ts'
import {
  beginFlow,
  consumeFlow,
  FLOW_LIFETIME_MS,
  type FlowDeps,
  findFlowByReference,
  IDENTITY_DECIDED,
  ownerOfFlow,
  readFlow,
  type StoredFlow,
} from '../owners/flow.ts'
import { markFlowDecided } from '../owners/session-table.ts'
import {
  type CompletionInput,
  type IdentityProvider,
  ProviderRefusal,
  type VerificationResult,
  verifiesKind,
} from '../providers/provider.ts'
import {
  callProvider,
  getProvider,
  identityContext,
  type ProviderCallDeps,
  type Providers,
} from '../providers/providers.ts'
import { ORGANISATION_DOMAIN } from '../verification-table.ts'
import { type Verification, type VerifyOwnerDeps, verifyOwner } from './record-verification.ts'

/**
 * The username of the organisation for which an admin began a flow; null: a person, for their own account. The address of a
 * callback does not say so.
 * @param token from the flow cookie, or null
 */
export async function organisationOfFlow(
  deps: Pick<FlowDeps, 'db'>,
  token: string | null,
): Promise<string | null> {
  const ownerId = await ownerOfFlow(deps, token)
  const owner = ownerId === null ? undefined : await ownerById(deps.db.read, ownerId)
  return owner?.kind === 'organisation' ? owner.username : null
}

/** Providers with a webhook may decide long after the browser has left. */
const WEBHOOK_FLOW_LIFETIME_MS = 86_400_000

export interface BegunVerification {
  readonly begun: VerificationBegun
  /** For the flow cookie. */
  readonly token: string
  readonly lifetimeMs: number
}

/**
 * The provider with which an owner begins a verification.
 * @throws CodedError NOT_FOUND; FORBIDDEN for that of a domain, which has operations of its own
 */
export function getVerifyingProvider(providers: Providers, id: string): IdentityProvider {
  if (id !== ORGANISATION_DOMAIN) return getProvider(providers, id)
  throw new CodedError(
    'FORBIDDEN',
    'A domain verifies organisations only. Set the domain of the organisation, and publish its token.',
  )
}

/**
 * Asserts that a provider verifies owners of this kind: a person's identity is not that of an organisation.
 * @throws CodedError FORBIDDEN
 */
async function assertVerifies(
  db: Db,
  provider: Pick<IdentityProvider, 'label' | 'for'>,
  ownerId: number,
): Promise<void> {
  if (verifiesKind(provider, (await ownerById(db, ownerId))?.kind)) return
  throw new CodedError(
    'FORBIDDEN',
    `${provider.label} verifies ${provider.for}s only. Verify this account by another provider.`,
  )
}

/**
 * Begins an identity verification of an owner.
 * @param publishName whether the owner wants the name that the provider verifies to be published
 * @throws CodedError VALIDATION_ERROR if only the operator can verify with this provider or it verifies no names,
 *   FORBIDDEN if it verifies no owners of this kind, UNAVAILABLE if the provider fails
 */
export async function beginVerification(
  deps: ProviderCallDeps & FlowDeps,
  ownerId: number,
  provider: IdentityProvider,
  publishName: boolean,
): Promise<BegunVerification> {
  await assertVerifies(deps.db.read, provider, ownerId)
  if (!provider.selfService) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `${provider.label}: the operator of this service does this verification. Contact them.`,
    )
  }
  if (publishName && !provider.verifiesName) {
    const message = `${provider.label} reports no verified name that could be published.`
    throw new CodedError('VALIDATION_ERROR', message)
  }
  const begun = await callProvider(provider, () =>
    provider.begin(identityContext(deps, provider, ownerId, publishName)),
  )
  const lifetimeMs = provider.webhook === undefined ? FLOW_LIFETIME_MS : WEBHOOK_FLOW_LIFETIME_MS
  const { redirect = null, client = null, reference = null } = begun
  const state: FlowState = { ...begun.state, ...(publishName && { publishName }) }
  const token = await beginFlow(
    deps,
    { kind: 'identity', ownerId, provider: provider.id, reference, state },
    lifetimeMs,
  )
  return { begun: { redirect, client }, token, lifetimeMs }
}

/** The provider's own state, and whether the owner chose to publish the verified name. */
interface FlowState {
  readonly publishName?: boolean
}

/** A webhook request, unverified. */
export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly raw: Uint8Array
}

/**
 * Handles a provider's webhook. Its content is not trusted: the verification that it names is fetched from the provider.
 * @returns whether the verification was decided; false if no flow waits for it
 * @throws CodedError NOT_FOUND if the provider has no webhook, INVALID_SIGNATURE if the signature is wrong,
 *   UNAVAILABLE if the provider then fails, so that it sends the webhook again
 */
export async function handleProviderWebhook(
  deps: CompleteDeps,
  provider: IdentityProvider,
  request: WebhookRequest,
): Promise<boolean> {
  const reference = await readWebhookReference(provider, request)
  if (reference === null) return false
  const flow = await findFlowByReference<FlowState>(deps, 'identity', provider.id, reference)
  if (flow === null) return false
  try {
    await completeStoredFlow(deps, provider, flow, {})
    return true
  } catch (error) {
    // A refused verification is final: respond with success, so that the provider does not retry.
    if (error instanceof CodedError && error.code !== 'UNAVAILABLE') return false
    throw error
  }
}

async function readWebhookReference(
  provider: IdentityProvider,
  { headers, raw }: WebhookRequest,
): Promise<string | null> {
  if (provider.webhook === undefined) {
    throw new CodedError('NOT_FOUND', 'This identity provider has no webhook.')
  }
  try {
    return (await provider.webhook(headers, raw))?.reference ?? null
  } catch (error) {
    if (!(error instanceof ProviderRefusal)) throw error
    throw new CodedError(
      'INVALID_SIGNATURE',
      'The webhook has no valid signature of the identity provider.',
    )
  }
}

/** How often to check, after a refusal, whether the webhook has decided the flow. */
const DECISION_POLLS = 5
const DECISION_POLL_MS = 100

export type CompleteDeps = ProviderCallDeps & FlowDeps & VerifyOwnerDeps

export interface Completion {
  readonly ownerId: number
  readonly provider: IdentityProvider
  /** From the flow cookie, or null. */
  readonly token: string | null
  readonly input: CompletionInput
}

/**
 * Completes an identity verification that the same owner began in the same browser, and records it.
 * @throws CodedError VALIDATION_ERROR if the flow is not valid, or the person is not verified or has verified another
 *   account, UNAVAILABLE if the provider fails; then nothing changes
 */
export async function completeVerification(
  deps: CompleteDeps,
  { ownerId, provider, token, input }: Completion,
): Promise<void> {
  const expected = {
    kinds: ['identity', IDENTITY_DECIDED] as const,
    ownerId,
    provider: provider.id,
  }
  if (provider.webhook !== undefined) {
    const flow = await readFlow<FlowState>(deps, token, expected)
    if (flow.kind === IDENTITY_DECIDED) return
    try {
      return await completeStoredFlow(deps, provider, flow, input)
    } catch (error) {
      // The provider returns a result once. The webhook may have fetched it and not yet recorded it.
      if (!(await waitUntilDecided(() => readFlow(deps, token, expected)))) throw error
      return
    }
  }
  const { state } = await consumeFlow<FlowState>(deps, token, expected)
  const verified = await fetchResult(deps, provider, ownerId, input, state)
  await verifyOwner(deps, ownerId, toVerification(provider, verified, deps.now()), async (tx) => {
    await assertVerifies(tx.db, provider, ownerId)
    return true
  })
}

/** Waits for a concurrent request, such as the webhook, to decide the flow. @returns whether it did */
async function waitUntilDecided(read: () => Promise<StoredFlow<FlowState>>): Promise<boolean> {
  for (let polls = 0; polls < DECISION_POLLS; polls++) {
    const flow = await read().catch(() => null)
    if (flow === null || flow.kind === IDENTITY_DECIDED) return flow !== null
    await sleep(DECISION_POLL_MS)
  }
  return false
}

/**
 * Completes a flow that both the browser and the webhook can complete. The flow stays stored until the outcome is
 * recorded, and marking it decided in the same transaction makes sure that this happens once.
 */
async function completeStoredFlow(
  deps: CompleteDeps,
  provider: IdentityProvider,
  flow: StoredFlow<FlowState>,
  input: CompletionInput,
): Promise<void> {
  const ownerId = flow.ownerId as number
  const verified = await fetchResult(deps, provider, ownerId, input, flow.state)
  const verification = toVerification(provider, verified, deps.now())
  await verifyOwner(deps, ownerId, verification, async (tx) => {
    await assertVerifies(tx.db, provider, ownerId)
    return markFlowDecided(tx, flow.hash, IDENTITY_DECIDED)
  })
}

function fetchResult(
  deps: ProviderCallDeps,
  provider: IdentityProvider,
  ownerId: number,
  input: CompletionInput,
  state: FlowState,
): Promise<VerificationResult> {
  return callProvider(provider, () =>
    provider.complete(
      identityContext(deps, provider, ownerId, state.publishName === true),
      input,
      state,
    ),
  )
}

const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS

/**
 * Ends at the start of a day: the end is public with the grade, and its time would tell which agents have one owner. Whole years
 * end on the same day of the calendar, also if one of them is a leap year.
 */
function expiryAfter(verifiedAt: number, validForMs: number | null): number | null {
  if (validForMs === null || validForMs < 2 * DAY_MS) {
    return validForMs === null ? null : verifiedAt + validForMs
  }
  if (validForMs % YEAR_MS !== 0) return startOfDay(verifiedAt + validForMs)
  const end = new Date(startOfDay(verifiedAt))
  return end.setUTCFullYear(end.getUTCFullYear() + validForMs / YEAR_MS)
}

function toVerification(
  provider: IdentityProvider,
  verified: VerificationResult,
  now: number,
): Verification {
  const { subject, issuer, assurance, country } = verified
  const verifiedAt = Math.min(verified.verifiedAt.getTime(), now)
  const defaultExpiry = expiryAfter(verifiedAt, provider.validForMs)
  const expiresAt = verified.expiresAt?.getTime() ?? defaultExpiry
  if (expiresAt !== null && expiresAt <= now) {
    throw new CallbackRefusal(
      'verification-expired',
      `The verification at ${provider.label} has expired. Verify again there.`,
    )
  }
  return {
    provider: provider.id,
    issuer,
    subject,
    assurance,
    expiresAt,
    verifiedAt,
    country,
    publishedName: publishableName(verified),
  }
}

const MAX_NAME_LENGTH = 128

/** The name to publish, if the provider reports one of at least substantial assurance and it can be shown safely. */
export function publishableName({
  name = '',
  assurance,
}: Pick<VerificationResult, 'name' | 'assurance'>): string | null {
  const text = name.normalize('NFC').replaceAll(/\s+/g, ' ').trim()
  const isText = /^[^\p{Cc}\p{Cs}\p{Co}\p{Bidi_Control}]+$/u.test(text)
  if (assurance === 'low' || !isText || imitationIn(text) !== null) return null
  return [...text].length <= MAX_NAME_LENGTH ? text : null
}
