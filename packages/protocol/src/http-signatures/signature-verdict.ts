import type { SignatureAgent } from './signature-agent.ts'

/**
 * `verified`: the agent holds its key and its certificate is active. `invalid`: refuse the request. `unverified`: it could not
 * be decided, so the request proves nothing.
 */
export type SignatureVerdict = 'verified' | 'invalid' | 'unverified'

/**
 * Why a signature is not verified: a closed list, in the order of the checks. For logs; callers that proved nothing get the status
 * alone.
 */
export type SignatureReason =
  /** Neither `Signature` nor `Signature-Input`. */
  | 'unsigned'
  /** A field over 8 KiB, over 4 signatures, or over 32 components. */
  | 'limits'
  /** Not exactly one signature for Web Bot Auth that can be read, or an ambiguous or missing header field. */
  | 'malformed'
  /** The verifier has no list of its own origins. */
  | 'no-audience'
  /** Several `Host` fields, or one that differs from the target or `:authority`. */
  | 'bad-host'
  /** Sent to another authority than those of the verifier. */
  | 'authority'
  /** Received over plain http, outside loopback. */
  | 'insecure'
  /** The path is not in its normalized form. */
  | 'bad-path'
  /** The signature does not cover what the profile requires for this request. */
  | 'components'
  /** `created` is more than 30 seconds ahead. */
  | 'not-yet-valid'
  /** `expires` is past. */
  | 'expired'
  /** `created` or `expires` is missing, or they are more than 300 seconds apart. */
  | 'lifetime'
  /** The key is published in a standard, so everyone has it. */
  | 'test-key'
  /** Nobody vouches for the address in `Signature-Agent`. */
  | 'untrusted-agent'
  /** The address in `Signature-Agent` has no such key, or the agent has another one now. */
  | 'unknown-key'
  /** The keys could not be read. */
  | 'directory-unavailable'
  /** `alg` is not `ed25519`. */
  | 'algorithm'
  /** It is not the signature of this request by this key. */
  | 'bad-signature'
  /** The identification header names another agent, or is not covered. */
  | 'identification-mismatch'
  /** The certificate of the agent is suspended. */
  | 'suspended'
  /** The certificate of the agent is revoked. */
  | 'revoked'
  /** The verifier's own policy does not admit the agent. */
  | 'not-admitted'
  /** The nonce is missing, or not 22 to 128 base64url characters. */
  | 'nonce'
  /** The nonce was used before. */
  | 'replay'
  /** The key used more nonces than its share of the store. */
  | 'too-many-requests'
  /** A request that changes state, and the store cannot tell whether its nonce was used. */
  | 'replay-unchecked'
  /** `Content-Digest` is malformed, or not that of the body. */
  | 'digest'

/** What a reason means. */
export interface SignatureReasonMeaning {
  readonly verdict: Exclude<SignatureVerdict, 'verified'>
  /** The HTTP status for a request that needs proof. */
  readonly status: 400 | 401 | 403 | 429 | 503
}

/** The meaning of each reason. */
export const SIGNATURE_REASONS: Readonly<Record<SignatureReason, SignatureReasonMeaning>> = {
  unsigned: { verdict: 'unverified', status: 401 },
  limits: { verdict: 'invalid', status: 401 },
  malformed: { verdict: 'invalid', status: 401 },
  'no-audience': { verdict: 'unverified', status: 401 },
  'bad-host': { verdict: 'invalid', status: 400 },
  authority: { verdict: 'invalid', status: 401 },
  insecure: { verdict: 'invalid', status: 401 },
  'bad-path': { verdict: 'invalid', status: 400 },
  components: { verdict: 'invalid', status: 401 },
  'not-yet-valid': { verdict: 'invalid', status: 401 },
  expired: { verdict: 'invalid', status: 401 },
  lifetime: { verdict: 'invalid', status: 401 },
  'test-key': { verdict: 'invalid', status: 401 },
  'untrusted-agent': { verdict: 'unverified', status: 401 },
  'unknown-key': { verdict: 'unverified', status: 401 },
  'directory-unavailable': { verdict: 'unverified', status: 503 },
  algorithm: { verdict: 'invalid', status: 401 },
  'bad-signature': { verdict: 'invalid', status: 401 },
  'identification-mismatch': { verdict: 'invalid', status: 401 },
  suspended: { verdict: 'invalid', status: 403 },
  revoked: { verdict: 'invalid', status: 403 },
  'not-admitted': { verdict: 'invalid', status: 403 },
  nonce: { verdict: 'invalid', status: 401 },
  replay: { verdict: 'invalid', status: 401 },
  'too-many-requests': { verdict: 'unverified', status: 429 },
  'replay-unchecked': { verdict: 'unverified', status: 503 },
  digest: { verdict: 'invalid', status: 401 },
}

/** The result of verifying the signature of a request. */
export interface SignatureResult {
  readonly verdict: SignatureVerdict
  /** Null if the verdict is `verified`. */
  readonly reason: SignatureReason | null
  /** The HTTP status for a request that needs proof: 200 if the verdict is `verified`; 429 and 503 come with `Retry-After`. */
  readonly status: 200 | SignatureReasonMeaning['status']
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
  /** The covered `Content-Digest` field, to compare where the body is visible; null without one or before the signature was checked. */
  readonly contentDigest: string | null
}

/** `strict`: everything in the request that matters. `wba`: the minimum of the Web Bot Auth drafts. */
export type SignatureProfile = 'strict' | 'wba'
