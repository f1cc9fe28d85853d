import type { SignatureAgent } from './signature-agent.ts'

/**
 * `verified`: the agent holds its key and its certificate is active. `invalid`: refuse the request. `unverified`: it could not
 * be decided, so the request proves nothing.
 */
export type SignatureVerdict = 'verified' | 'invalid' | 'unverified'

/** What a reason means for the verdict, and the HTTP status for a request that needs proof. */
export interface SignatureReasonMeaning {
  readonly verdict: Exclude<SignatureVerdict, 'verified'>
  readonly status: 400 | 401 | 403 | 429 | 503
}

const invalid = (status: SignatureReasonMeaning['status']): SignatureReasonMeaning => ({
  verdict: 'invalid',
  status,
})
const unverified = (status: SignatureReasonMeaning['status']): SignatureReasonMeaning => ({
  verdict: 'unverified',
  status,
})

/**
 * Why a signature is not verified: a closed list, in the order of the checks. For logs; callers that proved nothing get the
 * status alone.
 */
export const SIGNATURE_REASONS = {
  /** Neither `Signature` nor `Signature-Input`. */
  unsigned: unverified(401),
  /** A field over 8 KiB, over 4 signatures, or over 32 components. */
  limits: invalid(401),
  /** Not exactly one signature for Web Bot Auth that can be read, or an ambiguous or missing header field. */
  malformed: invalid(401),
  /** The verifier has no list of its own origins. */
  'no-audience': unverified(401),
  /** Several `Host` fields, or one that differs from the target or `:authority`. */
  'bad-host': invalid(400),
  /** Sent to another authority than those of the verifier. */
  authority: invalid(401),
  /** Received over plain http, outside loopback. */
  insecure: invalid(401),
  /** The path is not in its normalized form. */
  'bad-path': invalid(400),
  /** The signature does not cover what the profile requires for this request. */
  components: invalid(401),
  /** `created` is more than 30 seconds ahead. */
  'not-yet-valid': invalid(401),
  /** `expires` is past, or `created` is more than 300 seconds ago. */
  expired: invalid(401),
  /** `created` or `expires` is missing, or they are more than 300 seconds apart. */
  lifetime: invalid(401),
  /** The key is published in a standard, so everyone has it. */
  'test-key': invalid(401),
  /** Nobody vouches for the address in `Signature-Agent`. */
  'untrusted-agent': unverified(401),
  /** The address in `Signature-Agent` has no such key, or the agent has another one now. */
  'unknown-key': unverified(401),
  /** The keys could not be read. */
  'directory-unavailable': unverified(503),
  /** `alg` is not `ed25519`. */
  algorithm: invalid(401),
  'bad-signature': invalid(401),
  /** The identification header names another agent, or is not covered. */
  'identification-mismatch': invalid(401),
  suspended: invalid(403),
  revoked: invalid(403),
  /** The verifier's own policy does not admit the agent. */
  'not-admitted': invalid(403),
  /** The nonce is missing, or not 22 to 128 base64url characters. */
  nonce: invalid(401),
  /** The nonce was used before. */
  replay: invalid(401),
  /** The key used more nonces than its share of the store. */
  'too-many-requests': unverified(429),
  /** A request that changes state, and the store cannot tell whether its nonce was used. */
  'replay-unchecked': unverified(503),
  /** `Content-Digest` is malformed, or not that of the body. */
  digest: invalid(401),
} as const satisfies Readonly<Record<string, SignatureReasonMeaning>>

/** Why a signature is not verified. */
export type SignatureReason = keyof typeof SIGNATURE_REASONS

/** The result of verifying the signature of a request. */
export interface SignatureResult {
  readonly verdict: SignatureVerdict
  /** Null if the verdict is `verified`. */
  readonly reason: SignatureReason | null
  /** The agent, once its signature has been checked; null before, and for keys without a DID. */
  readonly did: string | null
  /** The JWK thumbprint that the signature names; null if there is none. Proven only with `verified`. */
  readonly keyid: string | null
  /** What the signature names as the place of its keys; null if there is none. */
  readonly signatureAgent: SignatureAgent | null
  /** `strict`, or `wba` if the signature covers less; null if that was not decided. */
  readonly profile: SignatureProfile | null
  /** Whether it is known that the nonce was not used before. */
  readonly replay: 'checked' | 'unchecked'
  /** `none`: the signature covers no digest, and the request has no content. */
  readonly digest: 'checked' | 'unchecked' | 'none'
  /** The covered `Content-Digest` field, for whoever sees the body; null without one or before the signature was checked. */
  readonly contentDigest: string | null
}

/** `strict`: everything in the request that matters. `wba`: the minimum of the Web Bot Auth drafts. */
export type SignatureProfile = 'strict' | 'wba'
