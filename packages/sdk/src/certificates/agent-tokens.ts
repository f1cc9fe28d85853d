import { type Naming, parseJws } from '@countersign/protocol'
import type { Registry } from '../registry.ts'

/** A token that is sent with signed requests. Times in milliseconds since 1970. */
interface HeldToken {
  readonly token: string
  readonly renewAt: number
  readonly expiresAt: number
}

/** After which part of its lifetime a token is renewed. */
const CERTIFICATE_SHARE = 0.5
const STAPLE_SHARE = 0.25
/** How long a token is left alone after a request for it, and how soon a refused one is renewed again. */
const PAUSE_MS = 30_000

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
    this.#certificate = new TokenSource(CERTIFICATE_SHARE, now, (did) =>
      registry.certificate(did, options),
    )
    this.#staple = new TokenSource(STAPLE_SHARE, now, (did) => registry.staple(did, options))
  }

  /** The headers to send. One is left out if the service does not issue it, or is out of reach for too long. */
  async headersFor(did: string): Promise<[name: string, value: string][]> {
    const [certificate, staple] = await Promise.all([
      this.#certificate.get(did),
      this.#staple.get(did),
    ])
    const { certificate: name, status } = this.#headers
    return [
      ...(certificate === null ? [] : [[name, certificate] as [string, string]]),
      ...(certificate === null || staple === null ? [] : [[status, staple] as [string, string]]),
    ]
  }

  /** Forgets the tokens because a site refused them. @returns whether it is worth to try again */
  renewAfterRefusal(): boolean {
    if (this.#now() - this.#forgottenAt < PAUSE_MS) return false
    this.#forgottenAt = this.#now()
    return this.forget()
  }

  /** @returns whether there was a token */
  forget(): boolean {
    const had = [this.#certificate, this.#staple].map((each) => each.forget())
    return had.includes(true)
  }
}

/** One token, which is fetched once for all requests that wait for it. */
class TokenSource {
  readonly #share: number
  readonly #now: () => number
  readonly #fetch: (did: string) => Promise<string>
  #held: HeldToken | null = null
  #askedAt = Number.NEGATIVE_INFINITY
  #pending: Promise<void> | null = null

  constructor(share: number, now: () => number, fetch: (did: string) => Promise<string>) {
    this.#share = share
    this.#now = now
    this.#fetch = fetch
  }

  async get(did: string): Promise<string | null> {
    if (this.#held === null || this.#held.renewAt <= this.#now()) await this.#renew(did)
    return this.#held !== null && this.#held.expiresAt > this.#now() ? this.#held.token : null
  }

  forget(): boolean {
    const had = this.#held !== null
    this.#held = null
    this.#askedAt = Number.NEGATIVE_INFINITY
    return had
  }

  #renew(did: string): Promise<void> {
    if (this.#pending !== null) return this.#pending
    if (this.#now() - this.#askedAt < PAUSE_MS) return Promise.resolve()
    this.#askedAt = this.#now()
    this.#pending = this.#fetch(did)
      .then((token) => {
        this.#held = heldOf(token, this.#share)
      })
      // The request is sent without it, and the site asks the service.
      .catch(() => undefined)
      .finally(() => {
        this.#pending = null
      })
    return this.#pending
  }
}

/** @throws InvalidTokenError if it is no token */
function heldOf(token: string, share: number): HeldToken {
  const { iat, exp } = parseJws(token).payload
  const [from, to] = [Number(iat) * 1000, Number(exp) * 1000]
  return { token, renewAt: from + (to - from) * share, expiresAt: to }
}
