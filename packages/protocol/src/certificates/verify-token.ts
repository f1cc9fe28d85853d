import type { IssuerJwk } from '../wire/certificate.ts'
import { InvalidTokenError, type JwsAlgorithm, type ParsedJws, parseJws } from './jws.ts'

/**
 * The types of tokens that the keys of `/.well-known/jwks.json` sign. A verifier names the type that it expects, so that no token
 * is accepted in the place of another.
 */
export const TOKEN_TYPES = {
  /** A certificate (SD-JWT VC without disclosures). */
  certificate: 'dc+sd-jwt',
  /** A token status list (draft-ietf-oauth-status-list). */
  statusList: 'statuslist+jwt',
  /** The status of one agent for 15 minutes. */
  staple: 'svc-status+jwt',
  /** The end of the feed at a time. */
  feedHead: 'svc-feed+jwt',
  /** The manifest of a snapshot. */
  snapshot: 'svc-snapshot+jwt',
  /** A person agreed to one request of an agent. */
  approval: 'svc-approval+jwt',
} as const
/**
 * The type of Security Event Tokens (RFC 8417), which the same keys sign. The service verifies none, and nobody may expect one in the
 * place of a token above.
 */
export const SET_TOKEN_TYPE = 'secevent+jwt'

export type TokenType = (typeof TOKEN_TYPES)[keyof typeof TOKEN_TYPES]

/** How far the clocks of an issuer and of a verifier may differ, in seconds. */
export const TOKEN_CLOCK_SKEW = 60

/** Verifies a signature with a public key. Ed25519 by RFC 8032, ES256 with `r ‖ s` of 64 bytes. */
export type VerifyWithJwk = (
  jwk: IssuerJwk,
  message: Uint8Array,
  signature: Uint8Array,
) => boolean | Promise<boolean>

/** What a verifier expects of a token. */
export interface ExpectedToken {
  readonly typ: TokenType
  /** The `iss` that the token must have; null for types without one. */
  readonly issuer: string | null
  /** The keys of that issuer. */
  readonly keys: readonly IssuerJwk[]
  /** Unix seconds. */
  readonly now: number
}

/** Which algorithm a key signs with. It follows from the key, never from the token. */
export function algorithmOf(jwk: IssuerJwk): JwsAlgorithm {
  return jwk.kty === 'OKP' ? 'EdDSA' : 'ES256'
}

/**
 * Parses a token and verifies its type, issuer, times and signature.
 * @returns the token. Its other claims are to be checked by the caller
 * @throws InvalidTokenError that says what is wrong
 */
export async function verifyToken(
  text: string,
  { typ, issuer, keys, now }: ExpectedToken,
  verify: VerifyWithJwk,
): Promise<ParsedJws> {
  const token = parseJws(text)
  const { header, payload, signingInput, signature } = token
  if (header.typ !== typ) throw new InvalidTokenError(`has the type ${header.typ}, not ${typ}.`)
  if (issuer !== null && payload.iss !== issuer) {
    throw new InvalidTokenError(`was not issued by ${issuer}.`)
  }
  const key = keys.find(({ kid }) => kid === header.kid)
  if (key === undefined) {
    throw new InvalidTokenError('is signed with a key that the issuer does not list.')
  }
  if (algorithmOf(key) !== header.alg) {
    throw new InvalidTokenError('names an algorithm that its key is not for.')
  }
  assertCurrent(payload, now)
  if (!(await verify(key, signingInput, signature))) {
    throw new InvalidTokenError('has a signature that does not verify.')
  }
  return token
}

function assertCurrent({ nbf, ...payload }: ParsedJws['payload'], now: number): void {
  const { iat, exp } = payload as { readonly iat: number; readonly exp: number }
  // `1e400` is JSON, and Infinity.
  if (!Number.isFinite(iat) || !Number.isFinite(exp)) {
    throw new InvalidTokenError('has no iat or no exp.')
  }
  if (!(iat <= now + TOKEN_CLOCK_SKEW)) throw new InvalidTokenError('was issued in the future.')
  if (!(exp > now - TOKEN_CLOCK_SKEW)) throw new InvalidTokenError('has expired.')
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= now + TOKEN_CLOCK_SKEW)) {
    throw new InvalidTokenError('is not valid yet.')
  }
}
