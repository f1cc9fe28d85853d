import {
  fieldValue,
  headerFields,
  type KeyLookupFault,
  matchesContentDigest,
  type Naming,
  type NonceStore,
  type ProvenKey,
  type RawRequest,
  requestVerifier,
  type SignatureResult,
  type SigningKey,
  StructuredFieldError,
} from '@countersign/protocol'
import { type KeyDirectories, signatureVerifier, type VerifiedCertificate } from '@countersign/sdk'
import type { AgentCache } from './agent-cache.ts'
import { BoundedMap } from './bounded-map.ts'
import type { Caller, LookupResult } from './decision/decide.ts'
import type { Basis, CertificateFault } from './decision/decision.ts'
import { didOfKeySet, type TrustedIssuer } from './issuers/trusted-issuers.ts'
import { withTimeLimit } from './time-limit.ts'

export interface SignatureCheckerOptions {
  /** Origins. */
  readonly audiences: readonly string[]
  /** The origin of the service, as agents name it. */
  readonly issuer: string
  readonly naming: Naming
  readonly agents: AgentCache<unknown>
  /** For decisions by an answer of the service. */
  readonly bases: Readonly<Record<'service' | 'cache', Basis>>
  readonly nonces: NonceStore
  readonly directories: KeyDirectories
  /** Issuers whose certificates count without a question to the service. */
  readonly trusted: readonly TrustedIssuer[]
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** The clock of signatures, in milliseconds since 1970. */
  readonly clock: () => number
}

/** Reads the body of a request. */
export type BodyReader = () => Promise<Uint8Array | null | 'too-large'>

/** A caller whose key is proven. */
export type Signer = Extract<Caller, { kind: 'named' | 'directory' }>

/** The result of a check, and what is known of the agent that the signature names. */
export interface CheckedSignature {
  readonly result: SignatureResult
  /** Who signed; null unless the key is proven. */
  readonly signer: Signer | null
  /** Null if the signature names no agent. */
  readonly lookup: LookupResult | null
  readonly basis: Basis | null
  /** Why the certificate in the request does not count; null if it does, or there is none. */
  readonly certificateFault: CertificateFault | null
}

type Found = Pick<CheckedSignature, 'lookup' | 'basis' | 'certificateFault'>

/** What the policy says of a signer. */
export interface Admission extends Pick<CheckedSignature, 'lookup'> {
  readonly isAdmitted: boolean
}

/** How long after asking for an unknown key the service is not asked for another one of the same agent. */
const REFRESH_MS = 5_000
const MAX_REFRESHED = 10_000

/**
 * Verifies the signatures of requests. Keys of agents come from certificates of trusted issuers and from the service's answers, never
 * from an address in a request; other keys from the directories that the policy lists.
 */
export class SignatureChecker {
  readonly #options: SignatureCheckerOptions
  readonly #verifySignature = signatureVerifier()
  readonly #refreshedAt = new BoundedMap<string, number>(MAX_REFRESHED)

  constructor(options: SignatureCheckerOptions) {
    this.#options = options
  }

  /**
   * @param admit the policy, asked once the key is proven and before the nonce is recorded; it may add to what is known of the agent
   * @param readBody null if the body is not visible here, or in `request` already
   */
  async check(
    request: RawRequest,
    admit: (signer: Signer, found: Found) => Promise<Admission>,
    readBody: BodyReader | null,
  ): Promise<CheckedSignature> {
    const { audiences, nonces, directories, clock } = this.#options
    const found = { lookup: null, basis: null, certificateFault: null } as Found
    const trusted = this.#issuerNamedIn(request)
    const verify = requestVerifier({
      audiences,
      naming: trusted?.naming ?? this.#options.naming,
      nonces: timely(nonces),
      verifySignature: this.#verifySignature,
      now: clock,
      findKey: async ({ signatureAgent: agent, keyid }) => {
        const certified =
          trusted && (await this.#certifiedKey(trusted, request, agent.url, keyid, found))
        if (certified !== null) return certified
        const did = this.#didAt(agent.url)
        if (did === null) return directories.findKey({ signatureAgent: agent, keyid })
        Object.assign(found, await this.#lookup(did, keyid))
        return keyIn(found.lookup, did, keyid)
      },
      profile: (agent) => directories.find(agent)?.profile ?? 'strict',
      admit: async (key) => {
        const signer = this.#signerOf(key)
        if (signer === null) return false
        const { isAdmitted, lookup } = await admit(signer, found)
        Object.assign(found, { lookup })
        return isAdmitted
      },
    })
    const result = await withBody(await verify(request), readBody)
    const { verdict, reason, did, signatureAgent } = result
    const isProven = verdict === 'verified' || reason === 'not-admitted'
    const signer = isProven && signatureAgent ? this.#signerOf({ did, signatureAgent }) : null
    return { result, signer, ...found }
  }

  /** The trusted issuer whose agent a request names, before anything is verified: it decides on the names of headers. */
  #issuerNamedIn({ headers }: RawRequest): TrustedIssuer | null {
    const { trusted } = this.#options
    if (trusted.length === 0) return null
    const agent = fieldValue(headerFields(headers), 'signature-agent') ?? ''
    return trusted.find(({ issuer }) => agent.includes(`"${issuer}/agent/`)) ?? null
  }

  /**
   * The key in the certificate that a request carries.
   * @returns null if it carries none, so that the service has to be asked
   */
  async #certifiedKey(
    trusted: TrustedIssuer,
    { headers }: RawRequest,
    url: string,
    keyid: string,
    found: Found,
  ): Promise<SigningKey | KeyLookupFault | null> {
    const did = trusted.didAt(url)
    // Another member of Signature-Agent names the issuer.
    if (did === null) return 'untrusted-agent'
    const fields = headerFields(headers)
    const names = trusted.naming.tokenHeaders
    const certificate = fieldValue(fields, names.certificate.toLowerCase())
    if (certificate === null) return trusted.issuer === this.#options.issuer ? null : 'unknown-key'
    const staple = fieldValue(fields, names.status.toLowerCase())
    const evidence = await trusted.evidence({ did, keyid, certificate, staple }, (each) =>
      trusted.issuer === this.#options.issuer ? this.#restrictionOf(each) : null,
    )
    if (evidence === 'unavailable') return 'directory-unavailable'
    if (typeof evidence === 'string') {
      Object.assign(found, { certificateFault: evidence })
      return 'unknown-key'
    }
    Object.assign(found, evidence)
    // No status: the policy decides on it, in `admits`.
    return { publicKey: evidence.publicKey, did, status: null }
  }

  /** What the service said last of an agent, if that is against its certificate. */
  #restrictionOf({ did, keySequence }: VerifiedCertificate) {
    const known = this.#options.agents.known(did)
    const agent = known?.agent ?? null
    if (known === null || agent === null) return null
    if ((agent.keySequence ?? 0) > keySequence) return 'other-key'
    return agent.status === 'active' ? null : { agent, ageMs: known.ageMs }
  }

  #signerOf({ did, signatureAgent }: Pick<ProvenKey, 'did' | 'signatureAgent'>): Signer | null {
    if (did !== null) return { kind: 'named', did, proof: 'signature' }
    const directory = this.#options.directories.find(signatureAgent)
    return directory && { kind: 'directory', url: directory.url }
  }

  /** The agent whose key set is at an address of the service; null if none is. */
  #didAt(url: string): string | null {
    const { issuer, naming } = this.#options
    return didOfKeySet(issuer, naming, url)
  }

  /** Asks the service again if the cached answer has another key, since the agent may have changed it: once in REFRESH_MS. */
  async #lookup(did: string, keyid: string): Promise<Pick<Found, 'lookup' | 'basis'>> {
    const { agents, bases, now } = this.#options
    const cached = agents.getFresh(did)
    if (cached !== undefined) {
      const refreshedAt = this.#refreshedAt.get(did) ?? Number.NEGATIVE_INFINITY
      const isOther = cached.agent !== null && cached.agent.key?.keyid !== keyid
      if (!isOther || now() - refreshedAt < REFRESH_MS) {
        return { lookup: { kind: 'answered', agent: cached.agent }, basis: bases.cache }
      }
      this.#refreshedAt.set(did, now())
    }
    return { lookup: await agents.lookup(did), basis: bases.service }
  }
}

/** How long a nonce store may take, in milliseconds. */
const STORE_TIMEOUT_MS = 1_000

/** A store that takes too long cannot tell. */
function timely(store: NonceStore): NonceStore {
  return {
    record(nonce) {
      const outcome = store.record(nonce)
      if (!(outcome instanceof Promise)) return outcome
      return withTimeLimit(outcome, STORE_TIMEOUT_MS).then((each) =>
        each === 'late' ? 'unchecked' : each,
      )
    },
  }
}

/** The key of an agent as the service has answered, if the signature names it. */
function keyIn(
  lookup: LookupResult | null,
  did: string,
  keyid: string,
): SigningKey | KeyLookupFault {
  const agent = lookup?.kind === 'answered' ? lookup.agent : lookup?.last?.agent
  // No status: the policy decides on it, in `admits`.
  if (agent?.key?.keyid === keyid) return { publicKey: agent.key.publicKey, did, status: null }
  return lookup?.kind === 'answered' ? 'unknown-key' : 'directory-unavailable'
}

/** Compares the body with the signed digest. Reads it only for a proven agent, so that nobody else makes us buffer it. */
async function withBody(
  result: SignatureResult,
  readBody: BodyReader | null,
): Promise<SignatureResult> {
  const { verdict, contentDigest, digest } = result
  if (verdict !== 'verified' || readBody === null || digest === 'checked') return result
  const body = await readBody().catch(() => 'too-large' as const)
  if (body === 'too-large') return { ...result, digest: 'unchecked' }
  const bytes = body ?? new Uint8Array()
  if (contentDigest === null) {
    // HTTP/2 requests can have content without a header that says so.
    return bytes.length === 0 ? result : invalid(result, 'components')
  }
  return isDigestOf(contentDigest, bytes)
    ? { ...result, digest: 'checked' }
    : invalid(result, 'digest')
}

function invalid(result: SignatureResult, reason: 'components' | 'digest'): SignatureResult {
  return { ...result, verdict: 'invalid', reason, status: 401 }
}

function isDigestOf(field: string, body: Uint8Array): boolean {
  try {
    return matchesContentDigest(field, body)
  } catch (error) {
    if (error instanceof StructuredFieldError) return false
    throw error
  }
}
