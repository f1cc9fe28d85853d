import {
  agentOfKeySetUrl,
  CodedError,
  isOrigin,
  type KeyLookup,
  type NonceStore,
  type RawRequest,
  type RequestVerifier,
  requestVerifier,
  type SignatureResult,
  type SignedRequest,
  type SignedRequestVerdict,
  type UsedNonce,
} from '@countersign/protocol'
import { didOfAgent } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { VerifyDeps } from './verify-challenge.ts'

/**
 * Verifies the signature of a request that a site has received (RFC 9421, Web Bot Auth), for agents of this service only.
 * Nothing is fetched, and nothing is recorded.
 * @throws CodedError VALIDATION_ERROR, UNAVAILABLE; StorageFailure
 */
export async function signedRequestVerdict(
  deps: VerifyDeps,
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
  const verify = verifierFor(deps, request.audience, nonces)
  const { verdict, reason, did, keyid, digest } = await verify(rawRequestOf(request))
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
  }
}

/**
 * Verifies a signed request to this service itself, by one of its agents.
 * @param received with its body
 * @throws CodedError UNAVAILABLE; StorageFailure
 */
export function verifyOwnRequest(
  deps: VerifyDeps,
  received: RawRequest,
  nonces: NonceStore,
): Promise<SignatureResult> {
  return verifierFor(deps, deps.site.baseUrl, nonces)(received)
}

function verifierFor(deps: VerifyDeps, audience: string, nonces: NonceStore): RequestVerifier {
  return requestVerifier({
    audiences: [audience],
    naming: deps.site.naming,
    findKey: keysOfAgents(deps),
    verifySignature: (...args) => deps.ed25519.verify(...args),
    nonces,
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
