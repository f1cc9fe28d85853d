import type { SignatureReason, SignatureResult, SignatureVerdict } from './signed-request-types.ts'

/** What a reason means. */
export interface SignatureReasonMeaning {
  readonly verdict: Exclude<SignatureVerdict, 'verified'>
  /** The HTTP status for a request that needs proof. */
  readonly status: Exclude<SignatureResult['status'], 200>
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
  'delegation-refused': { verdict: 'invalid', status: 403 },
  'delegation-invalid': { verdict: 'invalid', status: 401 },
  'delegation-expired': { verdict: 'invalid', status: 401 },
  'delegation-ended': { verdict: 'invalid', status: 401 },
  'untrusted-agent': { verdict: 'unverified', status: 401 },
  'unknown-key': { verdict: 'unverified', status: 401 },
  'directory-unavailable': { verdict: 'unverified', status: 503 },
  algorithm: { verdict: 'invalid', status: 401 },
  'bad-signature': { verdict: 'invalid', status: 401 },
  'identification-mismatch': { verdict: 'invalid', status: 401 },
  suspended: { verdict: 'invalid', status: 403 },
  revoked: { verdict: 'invalid', status: 403 },
  'delegation-limit': { verdict: 'invalid', status: 403 },
  'approval-required': { verdict: 'invalid', status: 403 },
  'approval-invalid': { verdict: 'invalid', status: 403 },
  'approval-mismatch': { verdict: 'invalid', status: 403 },
  'approval-expired': { verdict: 'invalid', status: 403 },
  'not-admitted': { verdict: 'invalid', status: 403 },
  nonce: { verdict: 'invalid', status: 401 },
  replay: { verdict: 'invalid', status: 401 },
  'too-many-requests': { verdict: 'unverified', status: 429 },
  'replay-unchecked': { verdict: 'unverified', status: 503 },
  digest: { verdict: 'invalid', status: 401 },
  'approval-used': { verdict: 'invalid', status: 403 },
  'approval-unchecked': { verdict: 'invalid', status: 503 },
}
