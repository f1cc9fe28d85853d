import { sha256 } from '@noble/hashes/sha2.js'
import { hasOverride } from '../delegation/limits.ts'
import { encodeBase64Url, utf8 } from '../encoding.ts'
import { coversDigest } from '../http-signatures/components.ts'
import { parseContentDigest } from '../http-signatures/content-digest.ts'
import { fieldValue } from '../http-signatures/raw-request.ts'
import { MAX_CLOCK_SKEW } from '../http-signatures/signature-input.ts'
import type {
  ApprovalPolicy,
  NonceOutcome,
  NonceStore,
  RequestApproval,
  SignatureResult,
  UsedNonce,
} from '../http-signatures/signed-request-types.ts'
import { StructuredFieldError } from '../http-signatures/structured-fields.ts'
import type { VerifiedSignature } from '../http-signatures/verify-request.ts'
import type { ApprovalClaims } from './read-token.ts'

/** Which approvals count by default. */
export const DEFAULT_APPROVAL: ApprovalPolicy = {
  maxAgeSeconds: 600,
  by: ['passkey'],
  bodyCheckedByApplication: false,
}

/** Verifies the token of an approval by the agent's issuer (docs/approvals.md, step c): not that it is current, nor what it is for. */
export type ApprovalTokenVerifier = (
  token: string,
) => Promise<ApprovalClaims | 'approval-invalid' | 'directory-unavailable'>

/** Why the approval of a request does not count, by steps a to d (docs/approvals.md). */
export type ApprovalFault =
  | 'approval-required'
  | 'approval-invalid'
  | 'approval-mismatch'
  | 'directory-unavailable'

/** An approval of exactly the request that carries it. */
export interface FoundApproval {
  readonly approval: RequestApproval
  /** What a store of nonces records, so that the approval admits one request. */
  readonly use: UsedNonce
  /** Whether a body was approved. */
  readonly hasContent: boolean
}

/** Steps b to d: the approval that a request carries. Nothing here depends on the time or on a site's policy. */
export async function findApproval(
  signature: VerifiedSignature,
  verify: ApprovalTokenVerifier,
): Promise<FoundApproval | ApprovalFault> {
  const { received, expected } = signature
  const { approval: header } = expected.naming.tokenHeaders
  const token = fieldValue(received.fields, header.toLowerCase())
  if (token === null) return 'approval-required'
  const claims = await verify(token)
  if (typeof claims === 'string') return claims
  if (!expected.naming.didPattern.test(claims.sub)) return 'approval-invalid'
  return isFor(claims, signature) ? foundOf(claims) : 'approval-mismatch'
}

/** Step e, which depends on the time and on the rules of a site. @param now in milliseconds since 1970 */
export function approvalAgeFault(
  { at, by, expiresAt }: Pick<RequestApproval, 'at' | 'by' | 'expiresAt'>,
  policy: ApprovalPolicy,
  now: number,
): 'approval-expired' | 'approval-required' | null {
  if (expiresAt <= now || now - at > policy.maxAgeSeconds * 1000) return 'approval-expired'
  return policy.by.includes(by) ? null : 'approval-required'
}

/**
 * The part of step f that is about the body: whether it was compared with the digest that was approved.
 * @param seesContent whether the verifier knows for certain that there is none
 */
export function isBodyCompared(
  { hasContent }: FoundApproval,
  { received }: VerifiedSignature,
  digest: SignatureResult['digest'],
  seesContent: boolean,
): boolean {
  if (digest === 'checked') return true
  return !hasContent && (digest === 'none' || (seesContent && !received.hasContent))
}

/** Step g: uses an approval up. A store that fails cannot tell. */
export async function recordApproval(
  { use }: FoundApproval,
  nonces: NonceStore,
): Promise<NonceOutcome> {
  try {
    return await nonces.record(use)
  } catch {
    return 'unchecked'
  }
}

/** Byte for byte. All of it is covered by the signature, and the body by the digest. */
function isFor(
  { sub, aud, method, url, content }: ApprovalClaims,
  { key, received, known }: VerifiedSignature,
): boolean {
  const { origin, path, query, fields, hasContent } = received
  if (sub !== key.did || aud !== origin || method !== received.method) return false
  if (url !== origin + path + (query ?? '') || hasOverride(fields)) return false
  const digest = digestIn(known.contentDigest)
  if (content !== null) {
    const isTyped = isOfType(fieldValue(fields, 'content-type'), content.type)
    return isTyped && !fields.has('content-encoding') && digest === content.sha256
  }
  if (hasContent) return false
  return digest === EMPTY_DIGEST || (digest === null && !coversDigest({ method, hasContent }))
}

const EMPTY_DIGEST = encodeBase64Url(sha256(new Uint8Array()))

/** Base64url; null if there is no digest that counts. */
function digestIn(field: string | null): string | null {
  if (field === null) return null
  try {
    return encodeBase64Url(parseContentDigest(field))
  } catch (error) {
    if (error instanceof StructuredFieldError) return null
    throw error
  }
}

function isOfType(field: string | null, type: string): boolean {
  const [given, parameter, ...others] = (field ?? '').split(';').map((each) => each.trim())
  if (given !== type || others.length > 0) return false
  return parameter === undefined || /^charset=(?:utf-8|"utf-8")$/i.test(parameter)
}

function foundOf({ iss, sub, jti, iat, exp, by, content }: ApprovalClaims): FoundApproval {
  const hash = encodeBase64Url(sha256(utf8(`approval ${iss} ${jti}`)))
  const [at, expiresAt] = [iat * 1000, exp * 1000]
  const useUntil = expiresAt + MAX_CLOCK_SKEW * 1000
  return {
    approval: { id: jti, by, at, expiresAt, useKey: hash, useUntil },
    // The DID, since a key may change in the meantime.
    use: { keyid: sub, hash, createdAt: at, expiresAt: useUntil },
    hasContent: content !== null,
  }
}
