import { createPrivateKey, type KeyObject } from 'node:crypto'
import { isLoopback } from '@countersign/protocol'
import { importPKCS8 } from 'jose'
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  type CustomFetch,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  modifyAssertion,
  PrivateKeyJwt,
} from 'openid-client'
import type { Env } from '../../base/config.ts'
import { toProviderFailure } from './oidc-errors.ts'
import type { OidcProfile } from './oidc-profile.ts'
import { resolveSecret, SecretError, type SecretReference } from './secret-reference.ts'

/** Limit for each request to a provider. */
export const TIMEOUT_SECONDS = 10

/** How long the metadata is cached. openid-client fetches keys again when it meets an unknown `kid`. */
const METADATA_LIFETIME_MS = 3_600_000

/**
 * A provider's metadata (OpenID Connect Discovery 1.0), fetched on demand, so that the service starts while the provider
 * is down, and cached for an hour.
 */
export class OidcDiscovery {
  readonly #profile: OidcProfile
  readonly #auth: ClientAuth
  readonly #now: () => number
  readonly #fetch: CustomFetch | null
  #cached: { readonly config: Promise<Configuration>; readonly at: number } | null = null
  /** The last metadata fetched, which may be out of date. */
  known: Configuration | null = null

  /** @param fetch sends all requests to the provider; null: the global one */
  constructor(
    profile: OidcProfile,
    auth: ClientAuth,
    now: () => number,
    fetch: CustomFetch | null = null,
  ) {
    this.#profile = profile
    this.#auth = auth
    this.#now = now
    this.#fetch = fetch
  }

  /** @throws ProviderFailure, which is not cached */
  get(): Promise<Configuration> {
    const at = this.#now()
    if (this.#cached !== null && at - this.#cached.at < METADATA_LIFETIME_MS)
      return this.#cached.config
    const config = this.#discover()
    this.#cached = { config, at }
    config.catch(() => {
      if (this.#cached?.config === config) this.#cached = null
    })
    return config
  }

  async #discover(): Promise<Configuration> {
    const { issuer, clientId, requireAuthTime, label } = this.#profile
    const url = new URL(issuer)
    // By default openid-client does not verify the ID token's signature in this flow.
    const execute = [enableNonRepudiationChecks]
    if (url.protocol === 'http:' && isLoopback(url.hostname)) execute.push(allowInsecureRequests)
    try {
      const metadata = requireAuthTime === true ? { require_auth_time: true } : {}
      const config = await discovery(url, clientId, metadata, this.#auth, {
        execute,
        timeout: TIMEOUT_SECONDS,
        ...(this.#fetch !== null && { [customFetch]: this.#fetch }),
      })
      this.known = config
      return config
    } catch (error) {
      throw toProviderFailure(label, `discovery at ${issuer}`, error)
    }
  }
}

/**
 * The client's authentication at the token endpoint (OpenID Connect Core, section 9).
 * @param tokenEndpoint available once the metadata was fetched
 * @throws SecretError if the secret cannot be read or is not a private key
 */
export async function createClientAuth(
  profile: OidcProfile,
  env: Env,
  tokenEndpoint: () => string | undefined,
): Promise<ClientAuth> {
  const { clientAuth } = profile
  if (clientAuth === 'private_key_jwt') return privateKeyJwt(profile, env, tokenEndpoint)
  const secret = resolveSecret(profile.clientSecret as SecretReference, env)
  return clientAuth === 'client_secret_post' ? ClientSecretPost(secret) : ClientSecretBasic(secret)
}

async function privateKeyJwt(
  profile: OidcProfile,
  env: Env,
  tokenEndpoint: () => string | undefined,
): Promise<ClientAuth> {
  const { key, alg, kid } = readKey(resolveSecret(profile.privateKey as SecretReference, env))
  const pem = key.export({ type: 'pkcs8', format: 'pem' }) as string
  const id = profile.privateKeyId ?? kid
  return PrivateKeyJwt(
    { key: await importPKCS8(pem, alg), ...(id !== undefined && { kid: id }) },
    {
      [modifyAssertion](_header, payload) {
        if (profile.assertionAudience === 'token-endpoint') payload.aud = tokenEndpoint() as string
      },
    },
  )
}

interface SigningKey {
  readonly key: KeyObject
  readonly alg: string
  readonly kid?: string
}

/** Parses a private key in JWK or PEM. Errors contain no part of it. */
function readKey(text: string): SigningKey {
  try {
    const jwk = text.startsWith('{') ? (JSON.parse(text) as Record<string, string>) : null
    const key = createPrivateKey(jwk === null ? text : { key: jwk, format: 'jwk' })
    const alg = jwk?.alg ?? algOf(key)
    if (alg === undefined) throw new Error('no algorithm')
    return { key, alg, ...(jwk?.kid !== undefined && { kid: jwk.kid }) }
  } catch {
    throw new SecretError('the private key is neither a private JWK nor PEM of a kind that signs')
  }
}

/** The default algorithm of a key that does not name one (RFC 7518, RFC 8037). */
function algOf(key: KeyObject): string | undefined {
  if (key.asymmetricKeyType === 'rsa') return 'RS256'
  if (key.asymmetricKeyType === 'ed25519') return 'Ed25519'
  const curves: Readonly<Record<string, string>> = {
    prime256v1: 'ES256',
    secp384r1: 'ES384',
    secp521r1: 'ES512',
  }
  return curves[key.asymmetricKeyDetails?.namedCurve ?? '']
}
