import { CodedError } from '@countersign/protocol'
import type { IdentityProvider } from '../adapters/identity-providers/provider.ts'

/** The providers that the host has configured. */
export interface Providers {
  readonly all: readonly IdentityProvider[]
  /** Whether they are the ones for development: anyone can be anyone there. */
  readonly development: boolean
}

export const NO_PROVIDERS: Providers = { all: [], development: false }

/** @throws CodedError NOT_FOUND */
export function requireProvider(providers: Providers, id: string): IdentityProvider {
  const provider = providers.all.find((each) => each.id === id)
  if (provider !== undefined) return provider
  throw new CodedError('NOT_FOUND', 'There is no identity provider with this id.')
}
