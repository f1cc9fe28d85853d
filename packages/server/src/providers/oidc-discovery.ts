import { isLoopback } from '@countersign/protocol'
import {
  allowInsecureRequests,
  type ClientAuth,
  type Configuration,
  discovery,
  enableNonRepudiationChecks,
} from 'openid-client'
import { failureOf } from './oidc-errors.ts'
import type { OidcProfile } from './oidc-profile.ts'

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
      throw failureOf(label, `discovery at ${issuer}`, error)
    }
  }
}
