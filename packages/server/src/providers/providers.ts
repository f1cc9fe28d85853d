import { CodedError } from '@countersign/protocol'
import { Type } from 'typebox'
import type { Pepper } from '../core/crypto/secrets.ts'
import type { PagePolicy } from '../core/http/page-headers.ts'
import type { Site } from '../core/site.ts'
import {
  type BeginContext,
  type IdentityProvider,
  ProviderFailure,
  ProviderRefusal,
} from './provider.ts'

/** The providers that the host has configured. */
export interface Providers {
  readonly all: readonly IdentityProvider[]
  /** Whether they are the ones for development: anyone can be anyone there. */
  readonly development: boolean
}

/** What people read for their ids. */
export function providerLabelsOf({ all }: Providers): ReadonlyMap<string, string> {
  return new Map(all.map(({ id, label }) => [id, label]))
}

/** @throws CodedError NOT_FOUND */
export function getProvider(providers: Providers, id: string): IdentityProvider {
  const provider = providers.all.find((each) => each.id === id)
  if (provider !== undefined) return provider
  throw new CodedError('NOT_FOUND', 'There is no identity provider with this id.')
}

/** What the scripts of the providers need of the pages of the dashboard. */
export function pagePoliciesOf({ all }: Providers): readonly PagePolicy[] {
  return all.flatMap(({ pagePolicy }) => (pagePolicy === undefined ? [] : [pagePolicy]))
}

/** Which identity provider a path is about. */
export const providerParam = () =>
  Type.Object({
    provider: Type.String({ minLength: 1, maxLength: 64, description: 'the id of a provider' }),
  })

export interface ProviderCallDeps {
  readonly site: Site
  readonly pepper: Pepper
}

/** What a provider is told of an owner: a name that nobody else uses, and where the browser comes back to. */
export function identityContext(
  { site, pepper }: ProviderCallDeps,
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
export async function callProvider<T>(
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
