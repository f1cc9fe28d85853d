import { CodedError, type VerificationBegun } from '@countersign/protocol'
import { beginFlow, FLOW_LIFETIME_MS, type FlowDeps } from '../owners/flow.ts'
import { type AskDeps, askProvider, contextFor } from '../providers/ask-provider.ts'
import type { IdentityProvider } from '../providers/provider.ts'

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
  deps: AskDeps & FlowDeps,
  ownerId: number,
  provider: IdentityProvider,
): Promise<BegunVerification> {
  if (!provider.selfService) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `${provider.label}: this is done by whoever runs this service. Ask them.`,
    )
  }
  const begun = await askProvider(provider, () =>
    provider.begin(contextFor(deps, provider, ownerId)),
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
