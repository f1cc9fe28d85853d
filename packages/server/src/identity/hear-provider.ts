import { CodedError } from '@countersign/protocol'
import { flowOfReference } from '../owners/flow.ts'
import { type IdentityProvider, ProviderRefusal } from '../providers/provider.ts'
import { type CompleteDeps, settle } from './complete-verification.ts'

/** A call of a provider, as it came. */
export interface ProviderCall {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly raw: Uint8Array
}

/**
 * Hears a provider that calls us. What it says is a hint: the verification that it is about is asked for again.
 * @returns whether a verification is settled now; it is not where nothing waits for the call, or it is told again
 * @throws CodedError NOT_FOUND where the provider does not call, INVALID_SIGNATURE where it was not the provider,
 *   UNAVAILABLE where it then does not answer, so that it calls again
 */
export async function hearProvider(
  deps: CompleteDeps,
  provider: IdentityProvider,
  call: ProviderCall,
): Promise<boolean> {
  const reference = await referenceOf(provider, call)
  if (reference === null) return false
  const flow = await flowOfReference<object>(deps, 'identity', provider.id, reference)
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
  { headers, raw }: ProviderCall,
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
