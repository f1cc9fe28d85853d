import {
  agentOfKeySetUrl,
  CodedError,
  type Delegation,
  type DelegationOptions,
  isOrigin,
  type KeyLookup,
  type NonceStore,
  type RawRequest,
  type RequestVerifier,
  type RootLookup,
  requestVerifier,
  type SignatureResult,
  type SignedRequest,
  type SignedRequestVerdict,
  type UsedNonce,
} from '@countersign/protocol'
import { didOfAgent } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { VerifyDeps } from './verify-challenge.ts'

/** For requests with chains of delegations too. */
export interface VerifyRequestDeps extends VerifyDeps {
  /** Verifies certificates of this service. */
  readonly findRoot: RootLookup
}

/**
 * Verifies the signature of a request that a site has received (RFC 9421, Web Bot Auth), for agents of this service only.
 * Nothing is fetched, and nothing is recorded.
 * @throws CodedError VALIDATION_ERROR, UNAVAILABLE; StorageFailure
 */
export async function signedRequestVerdict(
  deps: VerifyRequestDeps,
  request: SignedRequest,
): Promise<SignedRequestVerdict> {
  assertOrigin(request.audience)
  const used: UsedNonce[] = []
  // Records nothing: the site does, and needs to know what.
  const nonces: NonceStore = {
    record: (nonce) => {
      used.push(nonce)
      return 'fresh'
    },
  }
  const { delegation: policy } = request
  const accepted = policy === undefined ? null : { ...policy, findRoot: deps.findRoot }
  const verify = verifierFor(deps, request.audience, nonces, accepted)
  const result = await verify(rawRequestOf(request))
  const { verdict, reason, did, keyid, digest, delegation } = result
  const [nonce] = verdict === 'verified' ? used : []
  return {
    verdict,
    reason,
    [deps.site.naming.didField]: did,
    keyid,
    replay: 'unchecked',
    replayKey: nonce === undefined ? null : nonce.hash,
    replayUntil: nonce === undefined ? null : timestamp(nonce.expiresAt),
    digest: digest === 'none' ? 'none' : 'unchecked',
    delegation: delegation === null ? null : shown(delegation),
  }
}

function shown({ hops, ...delegation }: Delegation) {
  return {
    ...delegation,
    hops: hops.map(({ issuedAt, expiresAt, limits, ...hop }) => ({
      ...hop,
      issuedAt: timestamp(issuedAt),
      expiresAt: timestamp(expiresAt),
      limits: {
        origins: [...limits.origins],
        methods: limits.methods && [...limits.methods],
        paths: limits.paths && [...limits.paths],
        mcp: limits.mcp && [...limits.mcp],
      },
    })),
  }
}

/**
 * Verifies a signed request to this service itself, by one of its agents. Delegates cannot act here: every chain is refused.
 * @param received with its body
 * @throws CodedError UNAVAILABLE; StorageFailure
 */
export function verifyOwnRequest(
  deps: VerifyDeps,
  received: RawRequest,
  nonces: NonceStore,
): Promise<SignatureResult> {
  return verifierFor(deps, deps.site.baseUrl, nonces, null)(received)
}

function verifierFor(
  deps: VerifyDeps,
  audience: string,
  nonces: NonceStore,
  delegation: DelegationOptions | null,
): RequestVerifier {
  return requestVerifier({
    audiences: [audience],
    naming: deps.site.naming,
    findKey: keysOfAgents(deps),
    verifySignature: (...args) => deps.ed25519.verify(...args),
    nonces,
    delegation,
    now: deps.now,
  })
}

/** The keys of this service's agents. The address in `Signature-Agent` only names the agent. */
export function keysOfAgents({ site, readModel }: VerifyDeps): KeyLookup {
  return async ({ signatureAgent }) => {
    const tail = agentOfKeySetUrl(site.naming, site.baseUrl, signatureAgent.url)
    if (tail === null) return 'untrusted-agent'
    const view = await readModel.find({ kind: 'tail', tail })
    if (view === null) return 'unknown-key'
    const { publicKey, status } = view.agent
    return { publicKey, did: didOfAgent(site, tail), status }
  }
}

const ABSOLUTE = /^(https?):\/\/([^/?#]*)(.*)$/s

/** Splits the URL without parsing it: `URL` would normalize what the verifier has to compare as it was received. */
export function rawRequestOf({
  method,
  url,
  headers,
}: Pick<SignedRequest, 'method' | 'url' | 'headers'>): RawRequest {
  const [, scheme, authority = '', target = ''] = ABSOLUTE.exec(url) ?? []
  return {
    method,
    scheme: scheme === 'https' ? 'https' : 'http',
    authority,
    target,
    headers: headers.map(([name = '', value = '']) => [name, value] as const),
  }
}

/** @throws CodedError VALIDATION_ERROR */
function assertOrigin(audience: string): void {
  if (isOrigin(audience)) return
  throw new CodedError(
    'VALIDATION_ERROR',
    'audience must be an origin in its canonical spelling, such as https://shop.example.',
  )
}
