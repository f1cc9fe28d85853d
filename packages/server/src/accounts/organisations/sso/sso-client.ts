import {
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  type IDToken,
  None,
} from 'openid-client'
import type { GuardedFetch } from '../../../http/outbound/guarded-fetch.ts'
import { beginOidc, type OidcState, redeemCode } from '../../providers/oidc.ts'
import { attempt, checkClientAuthentication } from '../../providers/oidc-check.ts'
import { OidcDiscovery } from '../../providers/oidc-client.ts'
import { toCompletionError } from '../../providers/oidc-errors.ts'
import type { OidcProfile } from '../../providers/oidc-profile.ts'
import { type BeginResult, type ProviderCheck, ProviderFailure } from '../../providers/provider.ts'

/** What an organisation says about the client that it has registered at its identity provider. */
export interface SsoClientSettings {
  readonly issuer: string
  readonly clientId: string
  /** Null: a public client. */
  readonly secret: string | null
  readonly groupClaim: string
}

/** The service as a client of an organisation's identity provider. All requests to it go through the guard. */
export interface SsoClient {
  /** @throws ProviderFailure */
  begin(callbackUrl: string): Promise<BeginResult>
  /** @returns the claims of the verified ID token. @throws ProviderRefusal, ProviderFailure */
  complete(callbackUrl: string, url: URL, state: object): Promise<IDToken>
  /** Contacts the identity provider. The first check that fails with `isNeeded` ends it. */
  check(): Promise<readonly (ProviderCheck & { readonly isNeeded: boolean })[]>
}

const LABEL = 'The identity provider'

/** @param now milliseconds since the Unix epoch */
export function openSsoClient(
  settings: SsoClientSettings,
  { fetch }: GuardedFetch,
  now: () => number,
): SsoClient {
  const { issuer, secret } = settings
  const profile = profileOf(settings)
  const discovery = new OidcDiscovery(profile, authOf(secret), now, fetch)
  const discover = async () => {
    const config = await discovery.get()
    // openid-client accepts more for the issuers of Entra ID that stand for all its tenants.
    if (new URL(config.serverMetadata().issuer).href === new URL(issuer).href) return config
    throw new ProviderFailure(`${LABEL} at ${issuer} describes itself as another issuer.`)
  }
  return {
    async begin(callbackUrl) {
      const config = await discover()
      const withScopes = { ...profile, scopes: scopesOf(settings, config) }
      return beginOidc(withScopes, discovery, { ownerId: 'sign-in', callbackUrl })
    },
    async complete(callbackUrl, url, state) {
      const config = await discover()
      try {
        return (await redeemCode(config, callbackUrl, { url }, state as OidcState)).claims
      } catch (error) {
        throw toCompletionError(LABEL, error)
      }
    },
    async check() {
      const checks: (ProviderCheck & { readonly isNeeded: boolean })[] = []
      for (const [name, check] of Object.entries(NEEDED)) {
        const result = await attempt(name, async () => check(await discover(), fetch))
        checks.push({ ...result, isNeeded: true })
        if (!result.ok) return checks
      }
      const authentication = () => checkClientAuthentication(discovery)
      const result = await attempt('client authentication', authentication)
      return [...checks, { ...result, isNeeded: false }]
    },
  }
}

function profileOf({ issuer, clientId }: SsoClientSettings): OidcProfile {
  return {
    id: 'sso',
    type: 'oidc',
    issuer,
    clientId,
    label: LABEL,
    kind: 'social',
    proves: '',
    assurance: 'low',
    clientAuth: 'client_secret_basic',
    accepted: null,
    // Each sign-in is one at the identity provider too, so that it counts as recent.
    maxAge: 0,
  }
}

/** By what the provider takes; with HTTP Basic if it does not say (OpenID Connect Discovery, section 3). */
function authOf(secret: string | null): ClientAuth {
  if (secret === null) return None()
  const basic = ClientSecretBasic(secret)
  const post = ClientSecretPost(secret)
  return (server, ...rest) => {
    const offered = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (offered.includes('client_secret_basic') ? basic : post)(server, ...rest)
  }
}

/** Some providers send groups only if a scope asks for them, others refuse a scope that they do not know. */
function scopesOf({ groupClaim }: SsoClientSettings, config: Configuration): string[] {
  const { scopes_supported: offered = [] } = config.serverMetadata()
  return ['profile', ...(offered.includes(groupClaim) ? [groupClaim] : [])]
}

type Check = (config: Configuration, fetch: GuardedFetch['fetch']) => string | Promise<string>

const NEEDED: Readonly<Record<string, Check>> = {
  discovery: (config) => `${config.serverMetadata().issuer} describes itself`,
  'authorization code': (config) => {
    const { response_types_supported: types = ['code'], authorization_endpoint: page } =
      config.serverMetadata()
    if (page === undefined || !types.includes('code')) {
      throw new Error('the identity provider does not offer the authorization code flow')
    }
    return 'offered'
  },
  PKCE: (config) => {
    const { code_challenge_methods_supported: methods } = config.serverMetadata()
    if (methods === undefined)
      return 'S256 is sent; the identity provider does not say that it checks it'
    if (!methods.includes('S256')) throw new Error('the identity provider does not support S256')
    return 'S256'
  },
  keys: async (config, fetch) => {
    const { jwks_uri: uri } = config.serverMetadata()
    if (uri === undefined) throw new Error('there is no jwks_uri, and ID tokens cannot be verified')
    const headers = { accept: 'application/json' }
    const response = await fetch(uri, { method: 'GET', headers })
    if (response.status !== 200) throw new Error(`the keys answer ${response.status}`)
    const { keys } = (await response.json()) as { keys?: unknown }
    if (!Array.isArray(keys) || keys.length === 0) throw new Error('there are no keys')
    return `${keys.length} to verify ID tokens with`
  },
}
