import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError, type VerificationBegun } from '@countersign/protocol'
import {
  beginFlow,
  consumeFlow,
  FLOW_LIFETIME_MS,
  type FlowDeps,
  findFlowByReference,
  IDENTITY_DECIDED,
  readFlow,
  type StoredFlow,
} from '../owners/flow.ts'
import { markFlowDecided } from '../owners/session-table.ts'
import {
  type CompletionInput,
  type IdentityProvider,
  ProviderRefusal,
  type Verified,
} from '../providers/provider.ts'
import { callProvider, identityContext, type ProviderCallDeps } from '../providers/providers.ts'
import { type Verification, type VerifyOwnerDeps, verifyOwner } from './record-verification.ts'

/** A provider that calls later may take its time. */
const WAITING_LIFETIME_MS = 86_400_000

export interface BegunVerification {
  readonly begun: VerificationBegun
  /** What the browser keeps until it comes back. */
  readonly token: string
  readonly lifetimeMs: number
}

/**
 * Begins an identity verification of an owner.
 * @throws CodedError VALIDATION_ERROR where only the host can do it, UNAVAILABLE where the provider does not answer
 */
export async function beginVerification(
  deps: ProviderCallDeps & FlowDeps,
  ownerId: number,
  provider: IdentityProvider,
): Promise<BegunVerification> {
  if (!provider.selfService) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `${provider.label}: this is done by whoever runs this service. Ask them.`,
    )
  }
  const begun = await callProvider(provider, () =>
    provider.begin(identityContext(deps, provider, ownerId)),
  )
  const lifetimeMs = provider.webhook === undefined ? FLOW_LIFETIME_MS : WAITING_LIFETIME_MS
  const { redirect = null, client = null, reference = null, state } = begun
  const token = await beginFlow(
    deps,
    { kind: 'identity', ownerId, provider: provider.id, reference, state },
    lifetimeMs,
  )
  return { begun: { redirect, client }, token, lifetimeMs }
}

/** A call of a provider, as it came. */
export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly raw: Uint8Array
}

/**
 * Hears a provider that calls us. What it says is a hint: the verification that it is about is asked for again.
 * @returns whether a verification is settled now; it is not where nothing waits for the call, or it is told again
 * @throws CodedError NOT_FOUND where the provider does not call, INVALID_SIGNATURE where it was not the provider,
 *   UNAVAILABLE where it then does not answer, so that it calls again
 */
export async function handleProviderWebhook(
  deps: CompleteDeps,
  provider: IdentityProvider,
  call: WebhookRequest,
): Promise<boolean> {
  const reference = await referenceOf(provider, call)
  if (reference === null) return false
  const flow = await findFlowByReference<object>(deps, 'identity', provider.id, reference)
  if (flow === null) return false
  try {
    await settle(deps, provider, flow, {})
    return true
  } catch (error) {
    // That somebody is not verified is no reason to call again.
    if (error instanceof CodedError && error.code !== 'UNAVAILABLE') return false
    throw error
  }
}

async function referenceOf(
  provider: IdentityProvider,
  { headers, raw }: WebhookRequest,
): Promise<string | null> {
  if (provider.webhook === undefined) {
    throw new CodedError('NOT_FOUND', 'This identity provider does not call.')
  }
  try {
    return (await provider.webhook(headers, raw))?.reference ?? null
  } catch (error) {
    if (!(error instanceof ProviderRefusal)) throw error
    throw new CodedError('INVALID_SIGNATURE', 'The call is not signed by the identity provider.')
  }
}

/** How often, after a refusal, is looked whether the provider's call has come first. */
const DECISION_POLLS = 5
const DECISION_POLL_MS = 100

export type CompleteDeps = ProviderCallDeps & FlowDeps & VerifyOwnerDeps

export interface Completion {
  readonly ownerId: number
  readonly provider: IdentityProvider
  /** What the browser kept, or null. */
  readonly token: string | null
  readonly input: CompletionInput
}

/**
 * Completes an identity verification that the same owner has begun in the same browser, and records it.
 * @throws CodedError VALIDATION_ERROR where it was not begun so, where the human is not verified or has verified
 *   another account, UNAVAILABLE where the provider is to blame; then nothing is changed
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
    const flow = await readFlow<object>(deps, token, expected)
    if (flow.kind === IDENTITY_DECIDED) return
    try {
      return await settle(deps, provider, flow, input)
    } catch (error) {
      // The provider shows a session once: its call may have seen it, and not have recorded it yet.
      if (!(await waitUntilDecided(() => readFlow(deps, token, expected)))) throw error
      return
    }
  }
  const { state } = await consumeFlow<object>(deps, token, expected)
  const verified = await ask(deps, provider, ownerId, input, state)
  await verifyOwner(deps, ownerId, verificationOf(provider, verified, deps.now()))
}

/** Whether what was begun is decided by another request that is under way. */
async function waitUntilDecided(look: () => Promise<StoredFlow<object>>): Promise<boolean> {
  for (let looks = 0; looks < DECISION_POLLS; looks++) {
    const flow = await look().catch(() => null)
    if (flow === null || flow.kind === IDENTITY_DECIDED) return flow !== null
    await sleep(DECISION_POLL_MS)
  }
  return false
}

/**
 * The same, where the provider calls us too: what was begun stays until it is decided, and is recorded once, whoever
 * of the two comes first.
 */
async function settle(
  deps: CompleteDeps,
  provider: IdentityProvider,
  flow: StoredFlow<object>,
  input: CompletionInput,
): Promise<void> {
  const ownerId = flow.ownerId as number
  const verified = await ask(deps, provider, ownerId, input, flow.state)
  const verification = verificationOf(provider, verified, deps.now())
  await verifyOwner(deps, ownerId, verification, (tx) =>
    markFlowDecided(tx, flow.hash, IDENTITY_DECIDED),
  )
}

function ask(
  deps: ProviderCallDeps,
  provider: IdentityProvider,
  ownerId: number,
  input: CompletionInput,
  state: object,
): Promise<Verified> {
  return callProvider(provider, () =>
    provider.complete(identityContext(deps, provider, ownerId), input, state),
  )
}

function verificationOf(provider: IdentityProvider, verified: Verified, now: number): Verification {
  const { subject, issuer, assurance, country } = verified
  const verifiedAt = Math.min(verified.verifiedAt.getTime(), now)
  const ours = provider.validForMs === null ? null : verifiedAt + provider.validForMs
  const expiresAt = verified.expiresAt?.getTime() ?? ours
  if (expiresAt !== null && expiresAt <= now) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `What ${provider.label} has verified has expired. Verify it anew there.`,
    )
  }
  return { provider: provider.id, issuer, subject, assurance, expiresAt, verifiedAt, country }
}
