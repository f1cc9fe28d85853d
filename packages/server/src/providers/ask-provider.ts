import { CodedError } from '@countersign/protocol'
import type { Pepper } from '../core/crypto/secrets.ts'
import type { Site } from '../core/site.ts'
import {
  type BeginContext,
  type IdentityProvider,
  ProviderFailure,
  ProviderRefusal,
} from './provider.ts'

export interface AskDeps {
  readonly site: Site
  readonly pepper: Pepper
}

/** What a provider is told of an owner: a name that nobody else uses, and where the browser comes back to. */
export function contextFor(
  { site, pepper }: AskDeps,
  { id }: IdentityProvider,
  ownerId: number,
): BeginContext {
  return {
    ownerId: Buffer.from(pepper.hash('owner', id, String(ownerId))).toString('base64url'),
    callbackUrl: `${site.baseUrl}/identity/callback/${id}`,
  }
}

/**
 * Asks something of a provider, and says in our words what came of it.
 * @throws CodedError VALIDATION_ERROR where the human is not verified, UNAVAILABLE where the provider is to blame; the
 *   cause, for the log, holds no secret
 */
export async function askProvider<T>(
  { label }: Pick<IdentityProvider, 'label'>,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof ProviderRefusal) {
      throw new CodedError('VALIDATION_ERROR', error.message, { cause: error })
    }
    if (error instanceof ProviderFailure) {
      const message = `${label} does not answer as it should. Nothing was changed. Try again later.`
      throw new CodedError('UNAVAILABLE', message, { cause: error })
    }
    throw error
  }
}
