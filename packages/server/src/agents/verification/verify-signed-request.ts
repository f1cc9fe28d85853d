import {
  type ApprovalTokenVerifier,
  agentOfKeySetUrl,
  CodedError,
  DEFAULT_APPROVAL,
  type Delegation,
  isOrigin,
  type KeyLookup,
  type NonceStore,
  type RawRequest,
  type RequestApproval,
  type RequestVerifier,
  type RequestVerifierOptions,
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

/** Verify what this service itself has signed. */
export interface StatementVerifiers {
  /** Certificates, of which chains of delegations begin with one. */
  readonly findRoot: RootLookup
  readonly verifyApproval: ApprovalTokenVerifier
}

/** For requests with chains of delegations or approvals too. */
export interface VerifyRequestDeps extends VerifyDeps, StatementVerifiers {}

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
  const { delegation: chains, approval: approvals } = request
  const { findRoot, verifyApproval: verifyToken } = deps
  const verify = verifierFor(deps, request.audience, nonces, {
    delegation: chains === undefined ? null : { ...chains, findRoot },
    // The site compares the body with the digest, as without an approval.
    approval:
      approvals === undefined
        ? null
        : { ...DEFAULT_APPROVAL, ...approvals, bodyCheckedByApplication: true, verifyToken },
  })
  const result = await verify(rawRequestOf(request))
  const { verdict, reason, did, keyid, digest, delegation, approval } = result
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
    approval: approval === null ? null : shownApproval(approval),
  }
}

function shownApproval({ id, by, at, expiresAt, useKey, useUntil }: RequestApproval) {
  return {
    id,
    by,
    at: timestamp(at),
    expiresAt: timestamp(expiresAt),
    useKey,
    useUntil: timestamp(useUntil),
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
  return verifierFor(deps, deps.site.baseUrl, nonces, {})(received)
}

function verifierFor(
  deps: VerifyDeps,
  audience: string,
  nonces: NonceStore,
  required: Pick<RequestVerifierOptions, 'delegation' | 'approval'>,
): RequestVerifier {
  return requestVerifier({
    audiences: [audience],
    naming: deps.site.naming,
    findKey: keysOfAgents(deps),
    verifySignature: (...args) => deps.ed25519.verify(...args),
    nonces,
    ...required,
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
