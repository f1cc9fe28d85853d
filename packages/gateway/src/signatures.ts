import {
  agentOfKeySetUrl,
  checkReplayAndBody,
  didOf,
  fieldValue,
  type HeaderFields,
  headerFields,
  type KeyLookupFault,
  type KeyReference,
  matchesContentDigest,
  type Naming,
  type NonceStore,
  type ParsedSignature,
  type RawRequest,
  type SignatureAgent,
  type SignatureResult,
  type SigningKey,
  StructuredFieldError,
  signatureReader,
  type UnverifiedResult,
  type VerifiedSignature,
  verifyWithKey,
} from '@countersign/protocol'
import { type KeyDirectories, signatureVerifier, type VerifiedCertificate } from '@countersign/sdk'
import type { AgentCache, CacheEntry } from './agent-cache.ts'
import { BoundedMap } from './bounded-map.ts'
import type { Caller, LookupResult, Outcome } from './decision/decide.ts'
import type { Basis, CertificateFault } from './decision/decision.ts'
import type { TrustedIssuer } from './issuers/trusted-issuers.ts'
import type { Policy } from './policy/policy.ts'
import type { BodyReader } from './request/gateway-request.ts'
import { withTimeLimit } from './time-limit.ts'

export interface SignaturesOptions {
  /** Origins. */
  readonly audiences: readonly string[]
  /** The origin of the service, as agents name it. */
  readonly issuer: string
  readonly naming: Naming
  readonly agents: AgentCache<Outcome>
  /** For decisions by an answer of the service. */
  readonly bases: Readonly<Record<'service' | 'cache', Basis>>
  readonly nonces: NonceStore
  readonly policy: Pick<Policy, 'directories'>
  readonly directories: KeyDirectories
  /** Issuers whose certificates count without a question to the service. */
  readonly trusted: readonly TrustedIssuer[]
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** The clock of signatures, in milliseconds since 1970. */
  readonly clock: () => number
}

/** A signature that was read, and the trusted issuer whose agent it names, if any. */
export interface ReceivedSignature extends ParsedSignature {
  readonly trusted: TrustedIssuer | null
}

/** A caller whose key is proven. */
export type Signer = Extract<Caller, { kind: 'named' | 'directory' }>

/** The key that a signature names, and who has signed if it verifies. */
export interface SignerKey {
  readonly key: SigningKey
  readonly signer: Signer
  /** What is known of the agent; null for a directory. */
  readonly lookup: LookupResult | null
  readonly basis: Basis | null
  /** What was derived from the cached answer that this is; null if it is none. */
  readonly derived: Outcome[] | null
}

/** Why there is no key that counts. */
export interface MissingKey {
  readonly fault: KeyLookupFault
  /** Why the certificate in the request does not count; null if that is not the reason. */
  readonly certificateFault: CertificateFault | null
}

/** The tokens that a request carries, and the agent and the key that its signature names. */
interface CarriedTokens {
  readonly did: string
  readonly keyid: string
  readonly certificate: string
  readonly staple: string | null
}

/** How long after asking for an unknown key the service is not asked for another one of the same agent. */
const REFRESH_MS = 5_000
const MAX_REFRESHED = 10_000

/**
 * The steps of verifying a signed request, in their order: `read`, `findKey`, `verify`, `accept`. Keys of agents come from certificates of
 * trusted issuers and from the service's answers, never from an address in a request; other keys from the directories that the policy
 * lists.
 */
export class Signatures {
  readonly #options: SignaturesOptions
  readonly #nonces: NonceStore
  readonly #reader: ReturnType<typeof signatureReader>
  /** Issuers may have other names of headers. */
  readonly #trustedReaders: ReadonlyMap<TrustedIssuer, ReturnType<typeof signatureReader>>
  readonly #verify = signatureVerifier()
  readonly #refreshedAt = new BoundedMap<string, number>(MAX_REFRESHED)

  constructor(options: SignaturesOptions) {
    const { audiences, directories, policy, trusted, clock: now } = options
    const rulesOf =
      policy.directories.length === 0
        ? undefined
        : (agent: SignatureAgent) => directories.find(agent)
    const readerFor = (naming: Naming) => signatureReader({ audiences, naming, rulesOf, now })
    this.#options = options
    this.#nonces = timely(options.nonces)
    this.#reader = readerFor(options.naming)
    this.#trustedReaders = new Map(trusted.map((each) => [each, readerFor(each.naming)]))
  }

  /** @returns a result if the request has no signature that could count */
  read(request: RawRequest): ReceivedSignature | UnverifiedResult {
    const fields = headerFields(request.headers)
    const trusted = this.#issuerNamedIn(fields)
    const read = (trusted && this.#trustedReaders.get(trusted)) ?? this.#reader
    const signature = read(request, fields)
    return 'verdict' in signature ? signature : { ...signature, trusted }
  }

  /** The key by the certificate in the request, the service's answer, or a directory of the policy. */
  findKey(signature: ReceivedSignature): SignerKey | MissingKey | Promise<SignerKey | MissingKey> {
    const { issuer, naming } = this.#options
    const { trusted, keyid, signatureAgent } = signature
    if (trusted !== null) {
      const { fields } = signature.received
      const names = trusted.naming.tokenHeaders
      const did = trusted.didAt(signatureAgent.url)
      // Another member of Signature-Agent names the issuer.
      if (did === null) return missing('untrusted-agent')
      const certificate = fieldValue(fields, names.certificate.toLowerCase())
      if (certificate !== null) {
        const staple = fieldValue(fields, names.status.toLowerCase())
        return this.#certifiedKey(trusted, { did, keyid, certificate, staple })
      }
      if (trusted.issuer !== issuer) return missing('unknown-key')
    }
    const tail = agentOfKeySetUrl(naming, issuer, signatureAgent.url)
    return tail === null
      ? this.#directoryKey(signature)
      : this.#lookupKey(didOf(naming, tail), keyid)
  }

  /** @returns a result if the key has not signed this request */
  verify(
    signature: ReceivedSignature,
    key: SigningKey,
  ): VerifiedSignature | UnverifiedResult | Promise<VerifiedSignature | UnverifiedResult> {
    return verifyWithKey(signature, key, this.#verify)
  }

  /**
   * Records the nonce, and compares the body with the signed digest.
   * @param readBody null if the body is not visible here, or in the request already
   */
  accept(
    proven: VerifiedSignature,
    readBody: BodyReader | null,
  ): SignatureResult | Promise<SignatureResult> {
    const result = checkReplayAndBody(proven, this.#nonces)
    return readBody === null ? result : withBody(result, readBody)
  }

  /** When to send a request again whose replay could not be checked, in seconds; null: it never can. */
  retryAfterSeconds({ input }: VerifiedSignature): number | null {
    const { nonces } = this.#options
    const seconds = nonces.retryAfterSeconds?.((input.created ?? 0) * 1000)
    return seconds === undefined ? STORE_RETRY_SECONDS : seconds
  }

  /** The trusted issuer whose agent a request names, before anything is verified: it decides on the names of headers. */
  #issuerNamedIn(fields: HeaderFields): TrustedIssuer | null {
    const { trusted } = this.#options
    if (trusted.length === 0) return null
    const agent = fieldValue(fields, 'signature-agent') ?? ''
    return trusted.find(({ issuer }) => agent.includes(`"${issuer}/agent/`)) ?? null
  }

  async #certifiedKey(
    trusted: TrustedIssuer,
    { did, keyid, certificate: token, staple }: CarriedTokens,
  ): Promise<SignerKey | MissingKey> {
    const certificate = await trusted.certificate(token, did, keyid)
    if (certificate === 'unavailable') return missing('directory-unavailable')
    if (typeof certificate === 'string') return missing('unknown-key', certificate)
    const isOwn = trusted.issuer === this.#options.issuer
    const restricted = isOwn ? this.#restrictionOf(certificate) : null
    if (restricted === 'other-key') return missing('unknown-key', 'certificate-replaced')
    const evidence = await trusted.evidence(certificate, staple, restricted)
    if (evidence === 'certificate-replaced') return missing('unknown-key', evidence)
    const { publicKey, lookup, basis } = evidence
    return agentKey(did, publicKey, { lookup, basis, derived: null })
  }

  /** What the service said last of an agent, if that is against its certificate. */
  #restrictionOf({ did, keySequence }: VerifiedCertificate) {
    const known = this.#options.agents.known(did)
    const agent = known?.agent ?? null
    if (known === null || agent === null) return null
    if ((agent.keySequence ?? 0) > keySequence) return 'other-key'
    return agent.status === 'active' ? null : { status: agent.status, ageMs: known.ageMs }
  }

  #lookupKey(did: string, keyid: string): SignerKey | MissingKey | Promise<SignerKey | MissingKey> {
    const { bases } = this.#options
    const cached = this.#cachedAnswer(did, keyid)
    return cached === null
      ? this.#askForKey(did, keyid)
      : keyOf(
          { kind: 'answered', agent: cached.agent },
          { did, keyid },
          bases.cache,
          cached.derived,
        )
  }

  async #askForKey(did: string, keyid: string): Promise<SignerKey | MissingKey> {
    const { agents, bases } = this.#options
    return keyOf(await agents.lookup(did), { did, keyid }, bases.service, null)
  }

  /** Null if the service has to be asked, also if the agent may have another key since: once in REFRESH_MS. */
  #cachedAnswer(did: string, keyid: string): CacheEntry<Outcome> | null {
    const { agents, now } = this.#options
    const cached = agents.getFresh(did)
    if (cached === undefined) return null
    const isOther = cached.agent !== null && cached.agent.key?.keyid !== keyid
    if (!isOther) return cached
    const refreshedAt = this.#refreshedAt.get(did) ?? Number.NEGATIVE_INFINITY
    if (now() - refreshedAt < REFRESH_MS) return cached
    this.#refreshedAt.set(did, now())
    return null
  }

  async #directoryKey({ signatureAgent, keyid }: KeyReference): Promise<SignerKey | MissingKey> {
    const { directories } = this.#options
    const directory = directories.find(signatureAgent)
    if (directory === null) return missing('untrusted-agent')
    const key = await directories.findKey({ signatureAgent, keyid })
    if (typeof key === 'string') return missing(key)
    const signer = { kind: 'directory', url: directory.url } as const
    return { key, signer, lookup: null, basis: null, derived: null }
  }
}

/** The key by an answer of the service. */
function keyOf(
  lookup: LookupResult,
  { did, keyid }: { readonly did: string; readonly keyid: string },
  basis: Basis,
  derived: Outcome[] | null,
): SignerKey | MissingKey {
  const agent = lookup.kind === 'answered' ? lookup.agent : lookup.last?.agent
  if (agent?.key?.keyid === keyid) {
    return agentKey(did, agent.key.publicKey, { lookup, basis, derived })
  }
  return missing(lookup.kind === 'answered' ? 'unknown-key' : 'directory-unavailable')
}

function agentKey(
  did: string,
  publicKey: Uint8Array,
  { lookup, basis, derived }: Pick<SignerKey, 'lookup' | 'basis' | 'derived'>,
): SignerKey {
  // No status: the policy decides on it.
  const key = { publicKey, did, status: null }
  return { key, signer: { kind: 'named', did, proof: 'signature' }, lookup, basis, derived }
}

function missing(
  fault: KeyLookupFault,
  certificateFault: CertificateFault | null = null,
): MissingKey {
  return { fault, certificateFault }
}

/** For a store that does not say. */
const STORE_RETRY_SECONDS = 5

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

/** Compares the body with the signed digest. Reads it only for a proven agent, so that nobody else makes us buffer it. */
async function withBody(
  checked: SignatureResult | Promise<SignatureResult>,
  readBody: BodyReader,
): Promise<SignatureResult> {
  const result = await checked
  const { verdict, contentDigest, digest } = result
  if (verdict !== 'verified' || digest === 'checked') return result
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

/** Of a signed request at a gateway without audiences. */
export const NO_AUDIENCE: UnverifiedResult = {
  verdict: 'unverified',
  reason: 'no-audience',
  status: 401,
  did: null,
  keyid: null,
  signatureAgent: null,
  profile: null,
  replay: 'unchecked',
  digest: 'unchecked',
  contentDigest: null,
  delegation: null,
}
