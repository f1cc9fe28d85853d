import { createPrivateKey, type KeyObject } from 'node:crypto'
import { isLoopback } from '@countersign/protocol'
import { importPKCS8 } from 'jose'
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  discovery,
  enableNonRepudiationChecks,
  modifyAssertion,
  PrivateKeyJwt,
} from 'openid-client'
import { toProviderFailure } from './oidc-errors.ts'
import type { OidcProfile } from './oidc-profile.ts'
import { type Env, resolveSecret, SecretError, type SecretReference } from './secret-reference.ts'

/** For each request to a provider. */
export const TIMEOUT_SECONDS = 10

/** How long what a provider says of itself is believed. Its keys are asked for more often, where one is not known. */
const LIFETIME_MS = 3_600_000

/**
 * What a provider says of itself (OpenID Connect Discovery 1.0): asked for when it is needed, so that the service
 * starts while a provider is down, and kept for an hour.
 */
export class OidcDiscovery {
  readonly #profile: OidcProfile
  readonly #auth: ClientAuth
  readonly #now: () => number
  #asked: { readonly config: Promise<Configuration>; readonly at: number } | null = null
  /** What was last found out. */
  known: Configuration | null = null

  constructor(profile: OidcProfile, auth: ClientAuth, now: () => number) {
    this.#profile = profile
    this.#auth = auth
    this.#now = now
  }

  /** @throws ProviderFailure; then the next call asks again */
  get(): Promise<Configuration> {
    const at = this.#now()
    if (this.#asked !== null && at - this.#asked.at < LIFETIME_MS) return this.#asked.config
    const config = this.#discover()
    this.#asked = { config, at }
    config.catch(() => {
      if (this.#asked?.config === config) this.#asked = null
    })
    return config
  }

  async #discover(): Promise<Configuration> {
    const { issuer, clientId, requireAuthTime, label } = this.#profile
    const url = new URL(issuer)
    // openid-client believes a wrong signature unless it is told not to.
    const execute = [enableNonRepudiationChecks]
    if (url.protocol === 'http:' && isLoopback(url.hostname)) execute.push(allowInsecureRequests)
    try {
      const metadata = requireAuthTime === true ? { require_auth_time: true } : {}
      const config = await discovery(url, clientId, metadata, this.#auth, {
        execute,
        timeout: TIMEOUT_SECONDS,
      })
      this.known = config
      return config
    } catch (error) {
      throw toProviderFailure(label, `discovery at ${issuer}`, error)
    }
  }
}

/**
 * How a client shows who it is at the token endpoint (OpenID Connect Core, section 9).
 * @param tokenEndpoint known once the provider has been discovered
 * @throws SecretError where the secret is not where the settings say, or is no key
 */
export async function clientAuthOf(
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

/** A private key as a JWK or in PEM. Nothing of it is in an error. */
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

/** What such a key signs with, where it does not say so (RFC 7518, RFC 8037). */
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
