import { CodedError } from '@countersign/protocol'
import { Type } from 'typebox'
import type { PagePolicy } from '../core/http/page-headers.ts'
import type { IdentityProvider } from './provider.ts'

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
export function requireProvider(providers: Providers, id: string): IdentityProvider {
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
