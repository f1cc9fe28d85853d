import {
  appendHop,
  chainFault,
  decodeKey,
  encodeBase64Url,
  keyFault,
  keyThumbprint,
  MAX_CHAIN_LENGTH,
  MAX_DELEGATION_SECONDS,
  readChain,
  readLimits,
} from '@countersign/protocol'
import type { DelegationLimits } from '@countersign/protocol/signed-request-types'
import { CountersignError } from '../errors.ts'
import type { Signer } from '../keys/signer.ts'

/** The argument of `delegate`: for which key, for what, for how long. */
export interface DelegateRequest {
  /** The key of the delegate: 32 bytes in padded standard base64. Its private key stays with the delegate. */
  readonly publicKey: string
  /** The sites that it may send requests to, such as `https://shop.example`: 1 to 8. Name one, and sign another delegation for the next site. */
  readonly origins: readonly (string | URL)[]
  /** Such as `GET`: 1 to 8. HEAD is not GET. Default: those of the delegation before, else every method. */
  readonly methods?: readonly string[] | undefined
  /** `/exact` or `/prefix/*`, compared byte for byte: 1 to 8. Default: those of the delegation before, else every path. */
  readonly paths?: readonly string[] | undefined
  /**
   * Calls of MCP, such as `tools/list` or `tools/call search`: 1 to 16. Only sites whose server compares the headers with the body accept
   * this limit. Default: those of the delegation before, else not limited.
   */
  readonly mcp?: readonly string[] | undefined
  /** 1 to 86,400. It ends no later than the certificate, or the delegation before. Default: 3,600. */
  readonly expiresInSeconds?: number | undefined
  /** How many further delegations may follow: 0 to 2. Default: 0. */
  readonly maxDepth?: number | undefined
}

/** A delegation that was signed. It is no secret: it counts only with a request that the key of the delegate signs. */
export interface SignedDelegation {
  /** For `new DelegatedAgent({ chain })`: the certificate, and each delegation up to this one. */
  readonly chain: string
  /** ISO 8601, UTC. */
  readonly expiresAt: string
}

/** What a delegation follows. */
export interface DelegationSource {
  /** A certificate or a chain. */
  readonly before: string
  /** Null: a certificate, which limits nothing. */
  readonly limits: DelegationLimits | null
  /** How many hops may follow it. */
  readonly maxDepth: number
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** The key that signs. */
  readonly signer: Signer
}

/**
 * Signs a delegation, without a network.
 * @param now milliseconds since 1970
 * @throws CountersignError INVALID_ARGUMENT, DELEGATION_NOT_ALLOWED
 */
export async function signDelegation(
  source: DelegationSource,
  request: DelegateRequest,
  now: number,
): Promise<SignedDelegation> {
  const { expiresInSeconds = 3_600, maxDepth = 0 } = request
  const publicKey = keyOf(request)
  const limits = limitsOf(request, source.limits)
  if (!Number.isInteger(expiresInSeconds) || expiresInSeconds < 1) throw wrongSeconds()
  if (expiresInSeconds > MAX_DELEGATION_SECONDS) throw wrongSeconds()
  if (!Number.isInteger(maxDepth) || maxDepth < 0) throw invalid('maxDepth is 0 to 2.')
  if (maxDepth >= source.maxDepth) {
    throw new CountersignError(
      'DELEGATION_NOT_ALLOWED',
      source.limits === null
        ? `The owner of this agent allows ${source.maxDepth} levels of delegation. The owner can change that on the dashboard.`
        : `This chain may have ${source.maxDepth} further delegations.`,
    )
  }
  const issuedAt = Math.floor(now / 1000)
  const expiresAt = Math.min(issuedAt + expiresInSeconds, Math.floor(source.expiresAt / 1000))
  if (expiresAt <= issuedAt) throw invalid('What this delegation follows has expired.')
  const nonce = encodeBase64Url(crypto.getRandomValues(new Uint8Array(18)))
  const hop = { publicKey, issuedAt, expiresAt, nonce, maxDepth, limits }
  const chain = await appendHop(source.before, hop, (message) => source.signer.sign(message))
  assertUsable(chain, keyThumbprint(publicKey), now)
  return { chain, expiresAt: new Date(expiresAt * 1000).toISOString() }
}

function keyOf({ publicKey }: DelegateRequest): Uint8Array {
  const key = typeof publicKey === 'string' ? decodeKey(publicKey) : null
  if (key !== null && keyFault(key) === null) return key
  throw invalid('publicKey is an Ed25519 key: 32 bytes in padded standard base64.')
}

function limitsOf(request: DelegateRequest, before: DelegationLimits | null): DelegationLimits {
  const { origins, methods, paths, mcp } = request
  const limits = readLimits({
    origins: Array.isArray(origins)
      ? origins.map((each) => (each instanceof URL ? each.origin : each))
      : undefined,
    methods: methods ?? before?.methods ?? undefined,
    paths: paths ?? before?.paths ?? undefined,
    mcp: mcp ?? before?.mcp ?? undefined,
  })
  if (limits !== null) return limits
  throw invalid(
    'Limits are 1 to 8 different https origins such as https://shop.example, methods such as GET, paths such as /orders or /orders/* of at most 128 characters that no server reads differently, and 1 to 16 MCP calls such as tools/list or tools/call search.',
  )
}

/** What a verifier would refuse is not handed out. @throws CountersignError INVALID_ARGUMENT */
function assertUsable(text: string, keyid: string, now: number): void {
  if (text.length > MAX_CHAIN_LENGTH) {
    throw invalid(
      `The chain would have ${text.length} characters. ${MAX_CHAIN_LENGTH} are allowed: use fewer or shorter limits.`,
    )
  }
  const chain = readChain(text)
  const fault = 'fault' in chain ? chain.fault : chainFault(chain, { keyid, now })
  if (fault === null) return
  throw invalid(
    fault === 'widened'
      ? 'A delegation cannot allow more than the one before it.'
      : `Every verifier would refuse this chain (${fault}).`,
  )
}

function wrongSeconds(): CountersignError {
  return invalid(`expiresInSeconds is 1 to ${MAX_DELEGATION_SECONDS}.`)
}

function invalid(message: string): CountersignError {
  return new CountersignError('INVALID_ARGUMENT', message)
}
