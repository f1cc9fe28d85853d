import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError } from '@countersign/protocol'
import { completeFlow, type FlowDeps, type OpenFlow, openFlow, SETTLED } from '../owners/flow.ts'
import { settleFlow } from '../owners/flow-table.ts'
import { type AskDeps, askProvider, contextFor } from '../providers/ask-provider.ts'
import type { CompletionInput, IdentityProvider, Verified } from '../providers/provider.ts'
import { type Verification, type VerifyOwnerDeps, verifyOwner } from './record-verification.ts'

/** How often, after a refusal, is looked whether the provider's call has come first. */
const LOOKS = 5
const LOOK_EVERY_MS = 100

export type CompleteDeps = AskDeps & FlowDeps & VerifyOwnerDeps

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
  const expected = { kinds: ['identity', SETTLED] as const, ownerId, provider: provider.id }
  if (provider.webhook !== undefined) {
    const flow = await openFlow<object>(deps, token, expected)
    if (flow.kind === SETTLED) return
    try {
      return await settle(deps, provider, flow, input)
    } catch (error) {
      // The provider shows a session once: its call may have seen it, and not have recorded it yet.
      if (!(await isSettledSoon(() => openFlow(deps, token, expected)))) throw error
      return
    }
  }
  const { state } = await completeFlow<object>(deps, token, expected)
  const verified = await ask(deps, provider, ownerId, input, state)
  await verifyOwner(deps, ownerId, verificationOf(provider, verified, deps.now()))
}

/** Whether what was begun is decided by another request that is under way. */
async function isSettledSoon(look: () => Promise<OpenFlow<object>>): Promise<boolean> {
  for (let looks = 0; looks < LOOKS; looks++) {
    const flow = await look().catch(() => null)
    if (flow === null || flow.kind === SETTLED) return flow !== null
    await sleep(LOOK_EVERY_MS)
  }
  return false
}

/**
 * The same, where the provider calls us too: what was begun stays until it is decided, and is recorded once, whoever
 * of the two comes first.
 */
export async function settle(
  deps: CompleteDeps,
  provider: IdentityProvider,
  flow: OpenFlow<object>,
  input: CompletionInput,
): Promise<void> {
  const ownerId = flow.ownerId as number
  const verified = await ask(deps, provider, ownerId, input, flow.state)
  const verification = verificationOf(provider, verified, deps.now())
  await verifyOwner(deps, ownerId, verification, (tx) => settleFlow(tx, flow.hash, SETTLED))
}

function ask(
  deps: AskDeps,
  provider: IdentityProvider,
  ownerId: number,
  input: CompletionInput,
  state: object,
): Promise<Verified> {
  return askProvider(provider, () =>
    provider.complete(contextFor(deps, provider, ownerId), input, state),
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
