import type { TSchema } from 'typebox'
import { githubProvider, githubSettings } from './github.ts'
import { inPersonProvider, inPersonSettings } from './in-person.ts'
import { oidcProvider } from './oidc.ts'
import { oidcSettings } from './oidc-settings.ts'
import type { IdentityProvider } from './provider.ts'
import type { Env } from './secret.ts'
import { stripeIdentityProvider, stripeIdentitySettings } from './stripe-identity.ts'
import { worldIdProvider, worldIdSettings } from './world-id.ts'

interface ProviderType {
  readonly type: string
  readonly schema: TSchema
  /** @throws ProviderSettingsError, SecretError */
  readonly make: (settings: never, env: Env) => IdentityProvider | Promise<IdentityProvider>
}

/** Every type of provider that a host's file can have. */
export const PROVIDER_TYPES: readonly ProviderType[] = [
  { type: 'oidc', schema: oidcSettings(), make: oidcProvider },
  { type: 'github', schema: githubSettings(), make: githubProvider },
  { type: 'world-id', schema: worldIdSettings(), make: worldIdProvider },
  { type: 'stripe-identity', schema: stripeIdentitySettings(), make: stripeIdentityProvider },
  { type: 'in-person', schema: inPersonSettings(), make: inPersonProvider },
]
