import { InvalidTokenError, JWS_ALGORITHMS, type JwsHeader } from '../certificates/jws.ts'
import {
  algorithmOf,
  TOKEN_CLOCK_SKEW,
  TOKEN_TYPES,
  type VerifyWithJwk,
} from '../certificates/verify-token.ts'
import { decodeBase64Url, utf8 } from '../encoding.ts'
import { parseUnambiguousJson } from '../json.ts'
import type { Naming } from '../naming.ts'
import { parseThumbprint } from '../public-key.ts'
import type { IssuerJwk } from '../wire/certificate.ts'

/** How a request was approved: by a passkey, or by the service under a mandate that a passkey has signed. */
export const APPROVED_BY = ['passkey', 'mandate'] as const
export type ApprovedBy = (typeof APPROVED_BY)[number]

/** The longest token, in characters: servers and proxies limit headers. */
export const MAX_APPROVAL_TOKEN_LENGTH = 2560
/** The longest time from the decision to the end of a token, in seconds. */
export const MAX_APPROVAL_SECONDS = 3600

/** The claims of a token, in the order in which the service writes them. */
export interface ApprovalClaims {
  readonly iss: string
  /** The DID. */
  readonly sub: string
  /** The origin of `url`. */
  readonly aud: string
  /** The id of the approval, which is used once. */
  readonly jti: string
  /** When the person decided, in Unix seconds. */
  readonly iat: number
  readonly exp: number
  readonly method: string
  readonly url: string
  /** Null: the request has no body. `sha256` is of its bytes, base64url. */
  readonly content: { readonly type: string; readonly sha256: string } | null
  readonly by: ApprovedBy
  /** `assertionEvidence` */
  readonly evidence: string
}

/** A token that was read and not yet verified. */
export interface ApprovalToken {
  readonly header: JwsHeader
  readonly claims: ApprovalClaims
  /** The bytes that were signed: ASCII. */
  readonly signingInput: Uint8Array
  /** 64 bytes. */
  readonly signature: Uint8Array
}

/** An id of an approval: `ap_` and 16 bytes in base64url. */
export const APPROVAL_ID_PATTERN = /^ap_[A-Za-z0-9_-]{21}[AQgw]$/
const HEADER_MEMBERS = ['alg', 'kid', 'typ']
const CLAIMS = [
  ...(['iss', 'sub', 'aud', 'jti', 'iat', 'exp'] as const),
  ...(['method', 'url', 'content', 'by', 'evidence'] as const),
]
const CONTENT_MEMBERS = ['type', 'sha256']
const METHOD = /^[A-Z]{1,16}$/
/** The claims, and `content` in them. */
const MAX_DEPTH = 2
/** The year 5138, in seconds. */
const MAX_TIME = 99_999_999_999

/**
 * Reads an approval token (`svc-approval+jwt`) in compact form: exactly the members of its header and its claims, each once.
 * @param naming of the deployment whose agents it may name
 * @returns the token, of which no signature was verified and whose times were not compared with a clock
 * @throws InvalidTokenError
 */
export function readApprovalToken(text: string, naming: Naming): ApprovalToken {
  if (text.length > MAX_APPROVAL_TOKEN_LENGTH) throw new InvalidTokenError('is too long.')
  const parts = text.split('.')
  const [head = '', body = '', tail = ''] = parts
  const signature = decodeBase64Url(tail)
  if (parts.length !== 3 || signature?.length !== 64) {
    throw new InvalidTokenError('does not have three parts with a signature of 64 bytes.')
  }
  return {
    header: headerOf(objectOf(head, 'header', HEADER_MEMBERS)),
    claims: claimsOf(objectOf(body, 'payload', CLAIMS), naming),
    signingInput: utf8(`${head}.${body}`),
    signature,
  }
}

/**
 * Verifies issuer, key and signature of a token, and that it was not issued in the future. Whether it has expired, and whether it
 * is for a request, the caller compares.
 * @param expected its issuer, the keys of that issuer, and the time in Unix seconds
 * @throws InvalidTokenError
 */
export async function verifyApprovalToken(
  { header, claims, signingInput, signature }: ApprovalToken,
  expected: {
    readonly issuer: string
    readonly keys: readonly IssuerJwk[]
    readonly now: number
  },
  verify: VerifyWithJwk,
): Promise<void> {
  const { issuer, keys, now } = expected
  if (claims.iss !== issuer) throw new InvalidTokenError(`was not issued by ${issuer}.`)
  if (claims.iat > now + TOKEN_CLOCK_SKEW) throw new InvalidTokenError('was issued in the future.')
  const key = keys.find(({ kid }) => kid === header.kid)
  if (key === undefined) {
    throw new InvalidTokenError('is signed with a key that the issuer does not list.')
  }
  if (algorithmOf(key) !== header.alg) {
    throw new InvalidTokenError('names an algorithm that its key is not for.')
  }
  if (!(await verify(key, signingInput, signature))) {
    throw new InvalidTokenError('has a signature that does not verify.')
  }
}

type Members = Readonly<Record<string, unknown>>

function headerOf({ alg, kid, typ }: Members): JwsHeader {
  const algorithm = JWS_ALGORITHMS.find((each) => each === alg)
  if (algorithm === undefined || typeof kid !== 'string') {
    throw new InvalidTokenError(`has no kid, or an algorithm that is not one of ${JWS_ALGORITHMS}.`)
  }
  if (typ !== TOKEN_TYPES.approval) {
    throw new InvalidTokenError(`has another type than ${TOKEN_TYPES.approval}.`)
  }
  return { alg: algorithm, kid, typ: TOKEN_TYPES.approval }
}

function claimsOf(members: Members, { didPattern }: Naming): ApprovalClaims {
  const { iss, sub, aud, jti, iat, exp, method, url, content, by, evidence } = members
  const isText =
    isMatch(sub, didPattern) &&
    isMatch(jti, APPROVAL_ID_PATTERN) &&
    isMatch(method, METHOD) &&
    isOriginOf(aud, url) &&
    typeof iss === 'string'
  const isValid =
    isText && isTime(iat) && isTime(exp) && exp > iat && exp - iat <= MAX_APPROVAL_SECONDS
  if (!isValid || !isContent(content) || !isApprovedBy(by) || !isDigest(evidence)) {
    throw new InvalidTokenError('has a claim that is none of its kind.')
  }
  return { iss, sub, aud, jti, iat, exp, method, url, content, by, evidence } as ApprovalClaims
}

function objectOf(part: string, name: string, expected: readonly string[]): Members {
  const bytes = decodeBase64Url(part)
  let value: unknown = null
  try {
    if (bytes !== null) value = parseUnambiguousJson(bytes, MAX_DEPTH)
  } catch {
    // Reported below, like every other value that does not have these members.
  }
  if (!hasExactly(value, expected)) {
    throw new InvalidTokenError(`has a ${name} that does not have exactly ${expected.join(', ')}.`)
  }
  return value
}

function hasExactly(value: unknown, expected: readonly string[]): value is Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return (
    Object.keys(value).length === expected.length &&
    expected.every((each) => Object.hasOwn(value, each))
  )
}

function isContent(value: unknown): boolean {
  if (value === null) return true
  return (
    hasExactly(value, CONTENT_MEMBERS) && typeof value.type === 'string' && isDigest(value.sha256)
  )
}

function isDigest(value: unknown): value is string {
  return typeof value === 'string' && parseThumbprint(value) !== null
}

function isApprovedBy(value: unknown): value is ApprovedBy {
  return APPROVED_BY.some((each) => each === value)
}

function isMatch(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value)
}

function isTime(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TIME
}

function isOriginOf(aud: unknown, url: unknown): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const { href, origin } = new URL(url)
  return href === url && origin === aud
}
