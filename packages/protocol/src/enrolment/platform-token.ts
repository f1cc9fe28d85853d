import { decodeBase64Url } from '../encoding.ts'
import { parseUnambiguousJson } from '../json.ts'

/** What a rule asks of a platform token before its claims. */
export interface ExpectedPlatformToken {
  readonly issuer: string | null
  /** The rule's own: `<BASE_URL>/enrol/<id>`. */
  readonly audience: string
  /** `key`: the audience names the key too. `token`: it may. */
  readonly binding: 'key' | 'token'
  /** The longest lifetime of a token. */
  readonly maxTokenSeconds: number
  /** Whether a token may have no `iat`, as a JWT-SVID may. */
  readonly isSpiffe: boolean
}

/** The checks that can refuse a platform token, in their order. `expired` is not the fault of the workload. */
export const TOKEN_CHECKS = [
  'format',
  'header',
  'issuer',
  'audience',
  'expired',
  'times',
  'unknown-key',
  'signature',
  'claim',
] as const
export type TokenCheck = (typeof TOKEN_CHECKS)[number]

/** A platform token is refused. `message` is a sentence that says why. */
export class PlatformTokenError extends Error {
  override readonly name = 'PlatformTokenError'
  readonly check: TokenCheck

  constructor(check: TokenCheck, message: string) {
    super(message)
    this.check = check
  }
}

/** A platform token (JWT, RFC 7519) in compact form, parsed and not verified. */
export interface PlatformToken {
  readonly algorithm: PlatformAlgorithm
  readonly keyId: string | null
  readonly claims: Readonly<Record<string, unknown>>
}

/** The algorithms of JWT-SVID, which the other platforms use too. */
export const PLATFORM_ALGORITHMS = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512'] as const),
] as const
export type PlatformAlgorithm = (typeof PLATFORM_ALGORITHMS)[number]

export const MAX_PLATFORM_TOKEN_LENGTH = 8192
const MAX_DEPTH = 8
/** How far the clock of a platform may be ahead. */
const AHEAD_SECONDS = 60
/** Where a key would come from the token itself (RFC 7515 section 4.1), extensions that must be understood, and compression. */
const REFUSED_MEMBERS = ['crit', 'b64', 'jwk', 'jku', 'x5c', 'x5u', 'zip']
const TYPES = ['JWT', 'JOSE']

/** Whether text has the form of a platform token: at most 8,192 characters, three parts of canonical base64url. */
export function isPlatformToken(text: string): boolean {
  const parts = text.split('.')
  return (
    text.length <= MAX_PLATFORM_TOKEN_LENGTH &&
    parts.length === 3 &&
    parts.every((part) => part !== '' && decodeBase64Url(part) !== null)
  )
}

/**
 * Reads a platform token.
 * @param text for which `isPlatformToken` is true
 * @throws PlatformTokenError `format`, `header`
 */
export function readPlatformToken(text: string): PlatformToken {
  const [head = '', body = ''] = text.split('.')
  const { alg, kid, typ, ...header } = objectOf(head, 'header')
  const claims = objectOf(body, 'payload')
  const algorithm = PLATFORM_ALGORITHMS.find((each) => each === alg)
  if (algorithm === undefined) {
    throw new PlatformTokenError(
      'header',
      `The token has none of the algorithms ${PLATFORM_ALGORITHMS.join(', ')}.`,
    )
  }
  const refused = REFUSED_MEMBERS.find((name) => Object.hasOwn(header, name))
  if (refused !== undefined) {
    throw new PlatformTokenError(
      'header',
      `The token has the header member ${refused}, which is refused.`,
    )
  }
  if (typ !== undefined && !TYPES.some((each) => each === typ)) {
    throw new PlatformTokenError('header', 'The token has a typ that is neither JWT nor JOSE.')
  }
  if (kid !== undefined && typeof kid !== 'string') {
    throw new PlatformTokenError('header', 'The token has a kid that is no string.')
  }
  return { algorithm, keyId: kid ?? null, claims }
}

function objectOf(part: string, name: string): Readonly<Record<string, unknown>> {
  let value: unknown = null
  try {
    value = parseUnambiguousJson(decodeBase64Url(part) as Uint8Array, MAX_DEPTH)
  } catch {
    // Reported below, like every other value that is not an object.
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>
  }
  throw new PlatformTokenError(
    'format',
    `The token has a ${name} that is no JSON object without repeated members, of at most ${MAX_DEPTH} levels.`,
  )
}

/** The claims of a token that every rule checks. */
export interface TokenBinding {
  /** Whether the token was issued for the key, so that nobody else can use it. */
  readonly isBoundToKey: boolean
  /** Unix seconds. */
  readonly expiresAt: number
}

/**
 * Checks for whom and how long a token was issued.
 * @param thumbprint of the key that enrols (RFC 7638)
 * @param now Unix seconds
 * @throws PlatformTokenError `issuer`, `audience`, `expired`, `times`
 */
export function checkTokenBinding(
  { claims }: PlatformToken,
  expected: ExpectedPlatformToken,
  thumbprint: string,
  now: number,
): TokenBinding {
  if (expected.issuer !== null && claims.iss !== expected.issuer) {
    throw new PlatformTokenError('issuer', 'The token is of another issuer than that of the rule.')
  }
  const isBoundToKey = checkAudience(claims.aud, expected, thumbprint)
  return { isBoundToKey, expiresAt: checkTimes(claims, expected, now) }
}

function checkAudience(
  aud: unknown,
  { audience, binding }: ExpectedPlatformToken,
  thumbprint: string,
): boolean {
  const values = Array.isArray(aud) ? aud : [aud]
  const bound = `${audience}/${thumbprint}`
  if (values.length === 1 && values[0] === bound) return true
  if (values.length === 1 && values[0] === audience && binding === 'token') return false
  throw new PlatformTokenError(
    'audience',
    binding === 'key'
      ? `The token needs exactly one audience: that of the rule, a slash and the thumbprint of the key, ${bound}.`
      : `The token needs exactly one audience: ${audience}, or ${bound}.`,
  )
}

function checkTimes(
  { exp, nbf, iat }: PlatformToken['claims'],
  { maxTokenSeconds, isSpiffe }: ExpectedPlatformToken,
  now: number,
): number {
  if (!isTime(exp)) throw timesError('The token has no exp, or one that is no integer.')
  if (exp <= now)
    throw new PlatformTokenError(
      'expired',
      'The token has expired. Ask the platform for a new one.',
    )
  if (nbf !== undefined && (!isTime(nbf) || nbf > now + AHEAD_SECONDS)) {
    throw timesError('The token is not valid yet (nbf).')
  }
  if (iat === undefined && !isSpiffe) throw timesError('The token has no iat.')
  const from = iat ?? now
  if (!isTime(from) || from > now + AHEAD_SECONDS) {
    throw timesError('The token was issued in the future (iat).')
  }
  if (exp - from > maxTokenSeconds) {
    throw timesError(`The token is valid for more than ${maxTokenSeconds} seconds.`)
  }
  return exp
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function timesError(message: string): PlatformTokenError {
  return new PlatformTokenError('times', message)
}
