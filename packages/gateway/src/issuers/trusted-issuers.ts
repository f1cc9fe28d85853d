import {
  type Naming,
  namingFor,
  type ParsedJws,
  parseDidOrTail,
  parseJws,
} from '@countersign/protocol'
import {
  CountersignError,
  type VerifiedCertificate,
  type VerifiedStaple,
  verifyCertificate,
  verifyStaple,
} from '@countersign/sdk'
import { BoundedMap } from '../bounded-map.ts'
import type { CertificateFault } from '../decision/decision.ts'
import { shortNameOf } from '../policy/issuer-fields.ts'
import type { PolicyIssuer } from '../policy/policy.ts'
import { withTimeLimit } from '../time-limit.ts'
import { type Evidence, evidenceOf, type KnownStatus } from './evidence.ts'
import { acquireFollower } from './followers.ts'
import type { IssuerFollower } from './issuer-follower.ts'

/** Tokens beyond this are verified again. */
const MAX_TOKENS = 10_000

export interface TrustedIssuersOptions {
  readonly maxStaleSeconds: number
  /** The service of the gateway: its public origin, and where it is reached. */
  readonly service: { readonly issuer: string; readonly base: string }
  /** How long a request waits for lists that are being read, in milliseconds. */
  readonly timeoutMs: number
  /** A monotonic clock, in milliseconds. */
  readonly elapsed: () => number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** The tokens that a request carries, and the key that has signed it. */
export interface CarriedTokens {
  readonly did: string
  /** The thumbprint of the key that signed the request. */
  readonly keyid: string
  readonly certificate: string
  readonly staple: string | null
}

/** Decides about agents by the certificates in their requests, without a question to their service. */
export class TrustedIssuer {
  readonly issuer: string
  /** How the deployment of this issuer names things. */
  readonly naming: Naming
  readonly follower: IssuerFollower
  readonly release: () => Promise<void>
  readonly #options: TrustedIssuersOptions
  readonly #certificates = new BoundedMap<string, VerifiedCertificate>(MAX_TOKENS)
  readonly #staples = new BoundedMap<string, VerifiedStaple>(MAX_TOKENS)

  constructor({ issuer, didPrefix, jwks, idHeader }: PolicyIssuer, options: TrustedIssuersOptions) {
    const { service, elapsed, now } = options
    this.issuer = issuer
    this.naming = namingFor(shortNameOf(didPrefix) ?? undefined, idHeader)
    this.#options = options
    const base = issuer === service.issuer ? service.base : issuer
    const followed = { issuer, base, jwks: jwks?.keys ?? null, elapsed, now }
    const { follower, release } = acquireFollower(followed)
    this.follower = follower
    this.release = release
  }

  /** The agent of this issuer that a key set belongs to; null if it is none. @param url as `Signature-Agent` has it */
  didAt(url: string): string | null {
    return didOfKeySet(this.issuer, this.naming, url)
  }

  /**
   * What a certificate and a staple say of the agent that has signed a request.
   * @param restrictionOf what the service said last of an agent, if it was a restriction
   * @returns `unavailable` if the issuer's keys are not known
   */
  async evidence(
    tokens: CarriedTokens,
    restrictionOf: (certificate: VerifiedCertificate) => KnownStatus['restricted'] | 'other-key',
  ): Promise<Evidence | CertificateFault | 'unavailable'> {
    const certificate = await this.#certificate(tokens.certificate)
    if (typeof certificate === 'string') return certificate
    if (certificate.did !== tokens.did || certificate.keyThumbprint !== tokens.keyid) {
      return 'certificate-invalid'
    }
    const restricted = restrictionOf(certificate)
    if (restricted === 'other-key') return 'certificate-replaced'
    const staple = tokens.staple === null ? null : await this.#staple(tokens.staple)
    const isOthers = staple?.did !== tokens.did || staple.keyThumbprint !== tokens.keyid
    const { list, idx } = entryOf(certificate)
    this.follower.remember(list, idx, certificate.did)
    const listed = this.follower.status(list, idx) ?? (await this.#readStatus(list, idx, staple))
    return evidenceOf({
      certificate,
      staple: isOthers ? null : staple,
      listed,
      listAgeMs: this.follower.statusAgeMs,
      restricted,
      now: this.follower.now(),
      maxStaleSeconds: this.#options.maxStaleSeconds,
    })
  }

  async #certificate(
    token: string,
  ): Promise<VerifiedCertificate | CertificateFault | 'unavailable'> {
    const now = this.follower.now()
    const known = this.#certificates.get(token)
    if (known !== undefined && this.follower.hasKey(known.kid)) {
      return known.expiresAt > now ? known : 'certificate-expired'
    }
    const keys = await this.#keysFor(token)
    if (keys.length === 0) return 'unavailable'
    const issuers = [{ issuer: this.issuer, jwks: { keys } }]
    try {
      const options = { issuers, statusLists: null, now: () => now }
      const certificate = await verifyCertificate(token, options)
      if (!this.naming.didPattern.test(certificate.did)) return 'certificate-invalid'
      if (certificate.expiresAt <= now) return 'certificate-expired'
      this.#certificates.set(token, certificate)
      return certificate
    } catch (error) {
      if (!isInvalidToken(error)) throw error
      return isExpired(token, now) ? 'certificate-expired' : 'certificate-invalid'
    }
  }

  /** Null for a staple that does not verify: it is as if it had been left out. */
  async #staple(token: string): Promise<VerifiedStaple | null> {
    const now = this.follower.now()
    const known = this.#staples.get(token)
    if (known !== undefined && this.follower.hasKey(known.kid)) {
      return known.expiresAt > now ? known : null
    }
    const issuers = [{ issuer: this.issuer, jwks: { keys: this.follower.keys } }]
    try {
      const staple = await verifyStaple(token, { issuers, now: () => now })
      if (staple.expiresAt <= now) return null
      this.#staples.set(token, staple)
      return staple
    } catch (error) {
      if (!isInvalidToken(error)) throw error
      return null
    }
  }

  async #keysFor(token: string) {
    const kid = parsed(token)?.header.kid ?? null
    if (this.follower.keys.length === 0) {
      await withTimeLimit(this.follower.ready, this.#options.timeoutMs)
    }
    if (kid === null || this.follower.hasKey(kid)) return this.follower.keys
    await withTimeLimit(this.follower.keysIncluding(kid), this.#options.timeoutMs)
    return this.follower.keys
  }

  /** For a list that is not in memory: at the start, or because it is new. A staple makes waiting unnecessary. */
  async #readStatus(list: number, idx: number, staple: VerifiedStaple | null) {
    const { timeoutMs } = this.#options
    const reading = this.follower.ready.then(async () => {
      if (this.follower.status(list, idx) === null) await this.follower.loadList(list)
    })
    if (staple === null) await withTimeLimit(reading, timeoutMs)
    return this.follower.status(list, idx)
  }
}

/** The agent whose key set is at an address of an issuer; null if none is. */
export function didOfKeySet(issuer: string, naming: Naming, url: string): string | null {
  const prefix = `${issuer}/agent/`
  if (!url.startsWith(prefix) || !url.endsWith(KEY_SET)) return null
  const tail = parseDidOrTail(naming, url.slice(prefix.length, -KEY_SET.length))
  return tail === null ? null : `${naming.didPrefix}${tail}`
}

const KEY_SET = '/jwks.json'

/** A verified certificate refers to a list of its issuer: `<issuer>/status/<number>`. */
function entryOf({ statusList: { uri, idx } }: VerifiedCertificate) {
  return { list: Number(uri.slice(uri.lastIndexOf('/') + 1)), idx }
}

function isInvalidToken(error: unknown): boolean {
  return error instanceof CountersignError && error.code === 'INVALID_TOKEN'
}

/** Only for the reason of a refusal: nothing is verified. */
function isExpired(token: string, now: number): boolean {
  const exp = parsed(token)?.payload.exp
  return typeof exp === 'number' && exp * 1000 <= now
}

function parsed(token: string): ParsedJws | null {
  try {
    return parseJws(token)
  } catch {
    return null
  }
}
