import {
  agentOfKeySetUrl,
  didOf,
  type Naming,
  namingFor,
  type ParsedJws,
  parseJws,
} from '@countersign/protocol'
import {
  CountersignError,
  type VerifiedApproval,
  type VerifiedCertificate,
  type VerifiedStaple,
  verifyApproval,
  verifyCertificate,
  verifyStaple,
} from '@countersign/sdk'
import { BoundedMap } from '../bounded-map.ts'
import type { LookupResult } from '../decision/decide.ts'
import type { AgentData, Basis, CertificateFault } from '../decision/decision.ts'
import type { GatewayOptions } from '../options.ts'
import { shortNameOf } from '../policy/issuer-fields.ts'
import type { PolicyIssuer } from '../policy/policy.ts'
import type { ReadOptions } from '../read-options.ts'
import { withTimeLimit } from '../time-limit.ts'
import { type Verdict, verdictOf } from './evidence.ts'
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

/** The issuers that a policy trusts, which are followed from now on. */
export function trustedIssuers({
  registry,
  policy,
  issuer,
  timeoutMs,
  now: elapsed,
  clock: now,
}: ReadOptions): TrustedIssuer[] {
  const { maxStaleSeconds } = policy.offline
  const service = { issuer, base: registry.service }
  const options = { maxStaleSeconds, service, timeoutMs, elapsed, now }
  return policy.trust.map((each) => new TrustedIssuer(each, options))
}

/** A restriction that the service answered, and how long ago. */
export interface Restricted {
  readonly status: AgentData['status']
  readonly ageMs: number
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

  /** Calls back for each fault of the feed; errors of the callback are ignored, also if it is async. @returns a function that ends it */
  onFault(report: GatewayOptions['onFeedFault']): () => void {
    return this.follower.onFault((fault) => {
      void (async () => report?.(fault, this.issuer))().catch(() => undefined)
    })
  }

  /** The agent of this issuer that a key set belongs to; null if it is none. @param url as `Signature-Agent` has it */
  didAt(url: string): string | null {
    const tail = agentOfKeySetUrl(this.naming, this.issuer, url)
    return tail === null ? null : didOf(this.naming, tail)
  }

  /**
   * Verifies the certificate that a request carries, and that it is of the agent and the key that the signature names.
   * @param keyid the thumbprint of the key
   * @returns `unavailable` if the issuer's keys are not known
   */
  async certificate(
    token: string,
    did: string,
    keyid: string,
  ): Promise<VerifiedCertificate | CertificateFault | 'unavailable'> {
    const certificate = await this.#certificate(token)
    if (typeof certificate === 'string') return certificate
    const isOther = certificate.did !== did || certificate.keyThumbprint !== keyid
    return isOther ? 'certificate-invalid' : certificate
  }

  /**
   * Verifies the token of an approval by this issuer.
   * @returns `directory-unavailable` if the issuer's keys are not known
   */
  async approval(
    token: string,
  ): Promise<VerifiedApproval | 'approval-invalid' | 'directory-unavailable'> {
    // The keys at hand nearly always suffice, so the token is parsed once.
    const known = await this.#approvalBy(this.follower.keys, token)
    if (known !== null) return known
    const kid = parsed(token)?.header.kid ?? null
    if (kid === null || this.follower.hasKey(kid)) return 'approval-invalid'
    const keys = await this.#keysFor(token)
    if (keys.length === 0) return 'directory-unavailable'
    return (await this.#approvalBy(keys, token)) ?? 'approval-invalid'
  }

  /** Null if it does not verify. */
  async #approvalBy(keys: IssuerFollower['keys'], token: string): Promise<VerifiedApproval | null> {
    const issuers = [{ issuer: this.issuer, jwks: { keys } }]
    const { shortName, idHeader } = this.naming
    try {
      const naming = { shortName, idHeader }
      return await verifyApproval(token, { issuers, naming, now: () => this.follower.now() })
    } catch (error) {
      if (!isInvalidToken(error)) throw error
      return null
    }
  }

  /**
   * What a verified certificate and a staple say of their agent.
   * @param stapled the staple that the request carries
   * @param restricted what the service said last of the agent, if it was a restriction
   * @returns `certificate-replaced`: for good, neither a staple nor time changes it
   */
  async evidence(
    certificate: VerifiedCertificate,
    stapled: string | null,
    restricted: Restricted | null,
  ): Promise<Evidence | 'certificate-replaced'> {
    const { did, keyThumbprint } = certificate
    const carried = stapled === null ? null : await this.#staple(stapled)
    const isOwn = carried?.did === did && carried.keyThumbprint === keyThumbprint
    const staple = isOwn ? carried : null
    const { list, idx } = entryOf(certificate)
    const { follower } = this
    follower.remember(list, idx, did)
    const listed = follower.status(list, idx) ?? (await this.#readStatus(list, idx, staple))
    const now = follower.now()
    const verdict = verdictOf({
      listed,
      asOf: follower.asOf,
      listAgeMs: follower.statusAgeMs,
      staples: staple === null ? [] : [staple],
      lookup: restricted && { status: restricted.status, at: now - restricted.ageMs },
      now,
    })
    if (verdict === 'replaced') return 'certificate-replaced'
    const { maxStaleSeconds } = this.#options
    return evidenceOf(certificate, staple, verdict, { now, maxStaleSeconds })
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

/** The result of a lookup as a certificate gives it, and what it is based on. */
interface Evidence {
  /** The agent's key. */
  readonly publicKey: Uint8Array
  readonly lookup: LookupResult
  readonly basis: Basis
}

/** What a verdict means for a decision. A restriction counts however old it is. */
function evidenceOf(
  certificate: VerifiedCertificate,
  staple: VerifiedStaple | null,
  verdict: Verdict | null,
  { now, maxStaleSeconds }: { readonly now: number; readonly maxStaleSeconds: number },
): Evidence {
  const { issuer, publicKey } = certificate
  if (verdict === null) {
    const basis = { source: null, statusAgeSeconds: null, issuer }
    return { publicKey, lookup: { kind: 'unreachable', last: null }, basis }
  }
  const { status, source, ageMs } = verdict
  const agent = agentOf(certificate, staple, status, now)
  const basis = { source, statusAgeSeconds: seconds(ageMs), issuer }
  const isCurrent = ageMs <= maxStaleSeconds * 1000 || status !== 'active'
  const lookup: LookupResult = isCurrent
    ? { kind: 'answered', agent }
    : { kind: 'unreachable', last: { agent, ageSeconds: ageMs / 1000 } }
  return { publicKey, lookup, basis }
}

function agentOf(
  certificate: VerifiedCertificate,
  staple: VerifiedStaple | null,
  status: AgentData['status'],
  now: number,
): AgentData {
  const { did, identityMethod, publicKey, keyThumbprint, keySequence } = certificate
  const { keyChangedAt, ownerChangedAt } = certificate
  const isNewer = staple !== null && staple.issuedAt > certificate.issuedAt
  return {
    did,
    status,
    verified: status === 'active',
    identityMethod,
    keySequence,
    grade: isNewer ? staple.grade : certificate.grade,
    keyAgeSeconds: (now - Date.parse(keyChangedAt)) / 1000,
    ownerAgeSeconds: ownerChangedAt === null ? null : (now - Date.parse(ownerChangedAt)) / 1000,
    key: { publicKey, keyid: keyThumbprint },
  }
}

/** Rounded up: the status is at most this old. Null if that is not known. */
function seconds(ms: number): number | null {
  return Number.isFinite(ms) ? Math.ceil(ms / 1000) : null
}
