import { keyThumbprint, type Naming, parseJws } from '@countersign/protocol'
import type { Registry } from '../registry.ts'
import { bytesOf } from './verify-jwk-signature.ts'

/** A token that is sent with signed requests. Times in milliseconds since 1970. */
interface HeldToken {
  readonly token: string
  /** Of the key that it names. */
  readonly thumbprint: string | undefined
  readonly renewAt: number
  readonly expiresAt: number
}

/** After which part of its lifetime a token is renewed. */
const CERTIFICATE_SHARE = 0.5
const STAPLE_SHARE = 0.25
/** How long a token is left alone after a request for it, and how soon a refused one is renewed again. */
const PAUSE_MS = 30_000
/** The same if the service does not know the agent's new key yet. */
const OTHER_KEY_PAUSE_MS = 1000

/** The certificate and the staple of an agent, renewed before they expire. */
export class AgentTokens {
  readonly #headers: Naming['tokenHeaders']
  readonly #now: () => number
  readonly #certificate: TokenSource
  readonly #staple: TokenSource
  #forgottenAt = Number.NEGATIVE_INFINITY

  /** @param now milliseconds since 1970 */
  constructor(registry: Registry, { tokenHeaders }: Naming, now: () => number) {
    this.#headers = tokenHeaders
    this.#now = now
    const options = { fresh: true, staleIfErrorMs: 0 }
    this.#certificate = new TokenSource(CERTIFICATE_SHARE, now, (did, signal) =>
      registry.certificate(did, { ...options, signal }),
    )
    this.#staple = new TokenSource(STAPLE_SHARE, now, (did, signal) =>
      registry.staple(did, { ...options, signal }),
    )
  }

  /**
   * The headers to send. One is left out if the service does not issue it, or is out of reach for too long.
   * @param publicKey of the signature; 32 bytes. Tokens for another key are not sent
   */
  async headersFor(did: string, publicKey: Uint8Array): Promise<[name: string, value: string][]> {
    const thumbprint = keyThumbprint(publicKey)
    const [certificate, staple] = await Promise.all([
      this.#certificate.get(did, thumbprint),
      this.#staple.get(did, thumbprint),
    ])
    const { certificate: name, status } = this.#headers
    return [
      ...(certificate === null ? [] : [[name, certificate] as [string, string]]),
      ...(certificate === null || staple === null ? [] : [[status, staple] as [string, string]]),
    ]
  }

  /**
   * Forgets the tokens because a site refused a request with them.
   * @param sent the headers of that request
   * @returns whether it is worth to try again
   */
  renewAfterRefusal(sent: Headers): boolean {
    const { certificate, status } = this.#headers
    const token = sent.get(certificate)
    if (token === null) return false
    // Another request was refused too, or the tokens were due: they have been renewed since, or are at this moment.
    if (!this.#certificate.holds(token) || !this.#staple.holds(sent.get(status))) return true
    if (this.#now() - this.#forgottenAt < PAUSE_MS) return false
    this.#forgottenAt = this.#now()
    this.forget()
    return true
  }

  forget(): void {
    this.#certificate.forget()
    this.#staple.forget()
  }
}

/** Asks the service for a token. */
type Fetch = (did: string, signal: AbortSignal) => Promise<string>

/** One token, which is fetched once for all requests that wait for it. */
class TokenSource {
  readonly #share: number
  readonly #now: () => number
  readonly #fetch: Fetch
  #held: HeldToken | null = null
  /** Before, the service is not asked again. */
  #askAt = Number.NEGATIVE_INFINITY
  #pending: { readonly done: Promise<void>; readonly abort: () => void } | null = null

  constructor(share: number, now: () => number, fetch: Fetch) {
    this.#share = share
    this.#now = now
    this.#fetch = fetch
  }

  /** @param thumbprint of the key that the token must name */
  async get(did: string, thumbprint: string): Promise<string | null> {
    const held = this.#usable(thumbprint)
    // While a token is valid, no request waits for the next one: the service may be slow or away.
    if (held === null) await this.#renew(did, thumbprint)
    else if (held.renewAt <= this.#now()) void this.#renew(did, thumbprint)
    return this.#usable(thumbprint)?.token ?? null
  }

  #usable(thumbprint: string): HeldToken | null {
    const held = this.#held
    const isUsable = held?.thumbprint === thumbprint && held.expiresAt > this.#now()
    return isUsable ? held : null
  }

  /** Whether a token, or none, is the one that `get` returns. */
  holds(token: string | null): boolean {
    return (this.#held?.token ?? null) === token
  }

  forget(): void {
    this.#held = null
    this.#askAt = Number.NEGATIVE_INFINITY
    // It may be about the previous key.
    this.#pending?.abort()
    this.#pending = null
  }

  #renew(did: string, thumbprint: string): Promise<void> {
    if (this.#pending !== null) return this.#pending.done
    if (this.#now() < this.#askAt) return Promise.resolve()
    this.#askAt = this.#now() + PAUSE_MS
    const controller = new AbortController()
    const { signal } = controller
    const done = this.#fetch(did, signal)
      .then((token) => {
        if (!signal.aborted) this.#hold(heldOf(token, this.#share), thumbprint)
      })
      // The request is sent without it, and the site asks the service.
      .catch(() => undefined)
      .finally(() => {
        if (!signal.aborted) this.#pending = null
      })
    this.#pending = { done, abort: () => controller.abort() }
    return done
  }

  #hold(held: HeldToken, thumbprint: string): void {
    if (held.thumbprint === thumbprint) this.#held = held
    else this.#askAt = this.#now() + OTHER_KEY_PAUSE_MS
  }
}

/** @throws InvalidTokenError if it is no token */
function heldOf(token: string, share: number): HeldToken {
  const { iat, exp, cnf } = parseJws(token).payload
  const { jkt, jwk } = (cnf ?? {}) as { jkt?: string; jwk?: { x: string } }
  const [from, to] = [Number(iat) * 1000, Number(exp) * 1000]
  return {
    token,
    // A staple names the thumbprint, a certificate the key.
    thumbprint: jwk === undefined ? jkt : keyThumbprint(bytesOf(jwk.x)),
    renewAt: from + (to - from) * share,
    expiresAt: to,
  }
}
