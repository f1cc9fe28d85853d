import { CodedError } from '@countersign/protocol'
import { Type } from 'typebox'
import type { Site } from '../../base/site.ts'
import type { PagePolicy } from '../../http/page-headers.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import type { Pepper } from '../../secrets/secrets.ts'
import {
  type BeginContext,
  type IdentityProvider,
  ProviderFailure,
  ProviderRefusal,
} from './provider.ts'

/** Dependencies of accounts. Owners can also sign in with an identity provider. */
export interface OwnerDeps extends CoreDeps {
  readonly providers: Providers
}

/** The configured providers. */
export interface Providers {
  readonly all: readonly IdentityProvider[]
  /** Whether they are the development providers, at which anyone can sign in under any name. */
  readonly development: boolean
}

/** The providers' labels by id. */
export function providerLabelsOf({ all }: Providers): ReadonlyMap<string, string> {
  return new Map(all.map(({ id, label }) => [id, label]))
}

/** @throws CodedError NOT_FOUND if no provider has this id */
export function getProvider(providers: Providers, id: string): IdentityProvider {
  const provider = providers.all.find((each) => each.id === id)
  if (provider !== undefined) return provider
  throw new CodedError('NOT_FOUND', 'There is no identity provider with this id.')
}

/** What the providers' scripts need in the dashboard's Content-Security-Policy. */
export function pagePoliciesOf({ all }: Providers): readonly PagePolicy[] {
  return all.flatMap(({ pagePolicy }) => (pagePolicy === undefined ? [] : [pagePolicy]))
}

/** The path parameter `provider`. */
export const providerParam = () =>
  Type.Object({
    provider: Type.String({ minLength: 1, maxLength: 64, description: 'the id of a provider' }),
  })

export interface ProviderCallDeps {
  readonly site: Site
  readonly pepper: Pepper
}

/**
 * The context for verifying an owner: a pseudonym that differs for each provider, and the redirect URI.
 * @param withName whether to ask for the person's name
 */
export function identityContext(
  { site, pepper }: ProviderCallDeps,
  { id }: IdentityProvider,
  ownerId: number,
  withName: boolean,
): BeginContext {
  return {
    withName,
    ownerId: Buffer.from(pepper.hash('owner', id, String(ownerId))).toString('base64url'),
    callbackUrl: `${site.baseUrl}/identity/callback/${id}`,
  }
}

/**
 * Calls a provider, and converts its errors to HTTP error codes.
 * @throws CodedError VALIDATION_ERROR if the person is not verified, UNAVAILABLE if the provider fails; the cause is for
 *   the log and contains no secret
 */
export async function callProvider<T>(
  { label }: Pick<IdentityProvider, 'label'>,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call()
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
