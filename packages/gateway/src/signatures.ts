import {
  checkReplayAndBody,
  type DelegationPolicy,
  fieldValue,
  type HeaderFields,
  headerFields,
  isChain,
  MAX_DELEGATION_SECONDS,
  MAX_HOPS,
  matchesContentDigest,
  type Naming,
  type NonceStore,
  ProvenChains,
  type RawRequest,
  readDelegation,
  refuseRoot,
  refuseSignature,
  type SignatureAgent,
  type SignatureResult,
  StructuredFieldError,
  signatureReader,
  type UnverifiedResult,
  type VerifiedSignature,
  verifyDelegation,
  verifyWithKey,
} from '@countersign/protocol'
import { signatureVerifier } from '@countersign/sdk'
import type { CertificateFault } from './decision/decision.ts'
import type { TrustedIssuer } from './issuers/trusted-issuers.ts'
import type { Policy } from './policy/policy.ts'
import type { BodyReader } from './request/gateway-request.ts'
import {
  type ReceivedSignature,
  type SignerKey,
  SignerKeys,
  type SignerKeysOptions,
} from './signer-keys.ts'
import { withTimeLimit } from './time-limit.ts'

export interface SignaturesOptions extends SignerKeysOptions {
  /** Origins. */
  readonly audiences: readonly string[]
  readonly nonces: NonceStore
  readonly policy: Pick<Policy, 'directories'>
  /** Issuers whose certificates count without a question to the service. */
  readonly trusted: readonly TrustedIssuer[]
}

/** Who has signed a request, and what is known of them. */
export interface ProvenSigner extends Omit<SignerKey, 'key'> {
  readonly proven: VerifiedSignature
}

/** A signature that proves nothing. */
export interface UnprovenSigner {
  readonly result: UnverifiedResult
  /** Why the certificate in the request does not count; null if that is not the reason. */
  readonly certificateFault: CertificateFault | null
}

/** The steps of verifying a signed request, in their order: `read`, `prove`, `accept`. */
export class Signatures {
  readonly #options: SignaturesOptions
  readonly #nonces: NonceStore
  readonly #reader: ReturnType<typeof signatureReader>
  /** Issuers may have other names of headers. */
  readonly #trustedReaders: ReadonlyMap<TrustedIssuer, ReturnType<typeof signatureReader>>
  readonly #verify = signatureVerifier()
  readonly #verifyDelegated = signatureVerifier(undefined, true)
  readonly #keys: SignerKeys
  readonly #proven = new ProvenChains()

  constructor(options: SignaturesOptions) {
    const { audiences, directories, policy, trusted, clock: now } = options
    const rulesOf =
      policy.directories.length === 0
        ? undefined
        : (agent: SignatureAgent) => directories.find(agent)
    const readerFor = (naming: Naming) => signatureReader({ audiences, naming, rulesOf, now })
    this.#options = options
    this.#keys = new SignerKeys(options)
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

  /** Finds the key of a signer, and verifies its signature. With a chain of delegations, the key is that of the delegate. */
  async prove(signature: ReceivedSignature): Promise<ProvenSigner | UnprovenSigner> {
    if (signature.chain !== null) return this.#proveDelegate(signature)
    const found = await this.#keys.find(signature)
    if ('fault' in found) {
      const { fault, certificateFault } = found
      return { result: refuseSignature(signature, fault), certificateFault }
    }
    return provenOr(await verifyWithKey(signature, found.key, this.#verify), found)
  }

  async #proveDelegate(signature: ReceivedSignature): Promise<ProvenSigner | UnprovenSigner> {
    const policy = this.#keys.findsRoots(signature) ? EVERY_CHAIN : null
    const delegated = readDelegation(signature, policy, this.#proven)
    if ('verdict' in delegated) return { result: delegated, certificateFault: null }
    const found = await this.#keys.findRoot(signature, delegated.root)
    if ('fault' in found) {
      const { fault, certificateFault } = found
      return { result: refuseRoot(delegated, fault), certificateFault }
    }
    const by = { verify: this.#verifyDelegated, proven: this.#proven }
    return provenOr(await verifyDelegation(delegated, found.key, by), found)
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
}

/** Whether a request has a chain of delegations, readable or not. @param namings those of its possible issuers */
export function carriesChain({ headers }: RawRequest, namings: readonly Naming[]): boolean {
  const fields = headerFields(headers)
  return namings.some(({ tokenHeaders }) => {
    const value = fieldValue(fields, tokenHeaders.certificate.toLowerCase())
    return value !== null && isChain(value)
  })
}

/** @param proven a result if the signature does not count */
function provenOr(
  proven: VerifiedSignature | UnverifiedResult,
  { signer, lookup, basis, derived }: SignerKey,
): ProvenSigner | UnprovenSigner {
  if ('verdict' in proven) return { result: proven, certificateFault: null }
  const { delegation } = proven.known
  const isDelegate = delegation !== null && signer.kind === 'named'
  const caller = isDelegate ? { ...signer, delegation } : signer
  return { proven, signer: caller, lookup, basis, derived }
}

/** What the verifier accepts. Which chains a site accepts, its rules decide afterwards. */
const EVERY_CHAIN: DelegationPolicy = {
  maxDepth: MAX_HOPS,
  maxSeconds: MAX_DELEGATION_SECONDS,
  mcp: true,
}

/** For a store that does not say. */
const STORE_RETRY_SECONDS = 5

/** How long a nonce store may take, in milliseconds. */
const STORE_TIMEOUT_MS = 1_000

/** A store that takes too long cannot tell. */
export function timely(store: NonceStore): NonceStore {
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
  approval: null,
}
