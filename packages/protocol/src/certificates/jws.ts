import { decodeBase64Url, encodeBase64Url, utf8 } from '../encoding.ts'
import { parseJsonBytes } from '../json.ts'

/** `EdDSA` is Ed25519 (RFC 8037), `ES256` ECDSA with P-256 (RFC 7518 section 3.4). */
export const JWS_ALGORITHMS = ['EdDSA', 'ES256'] as const
export type JwsAlgorithm = (typeof JWS_ALGORITHMS)[number]

/** The protected header of every token of ours. */
export interface JwsHeader {
  readonly alg: JwsAlgorithm
  /** The JWK thumbprint (RFC 7638) of the key that signs. */
  readonly kid: string
  /** The type of token, which no other type shares. */
  readonly typ: string
}

/** A signature token in compact form (RFC 7515 section 3.1), parsed and not yet verified. */
export interface ParsedJws {
  readonly header: JwsHeader
  readonly payload: Readonly<Record<string, unknown>>
  /** The bytes that were signed: ASCII. */
  readonly signingInput: Uint8Array
  /** 64 bytes, under both algorithms. */
  readonly signature: Uint8Array
}

/** The text is not a token that this software accepts. `message` completes “The token …”. */
export class InvalidTokenError extends Error {
  override readonly name = 'InvalidTokenError'
}

/** The longest token that is read, in characters. A status list of 131,072 entries has at most 44,000. */
export const MAX_TOKEN_LENGTH = 100_000

/** Where a key would come from the token itself (RFC 7515 section 4.1), and extensions that must be understood. */
const REFUSED_MEMBERS = ['jwk', 'jku', 'x5c', 'x5u', 'crit', 'b64'] as const

/**
 * Signs a token in compact form.
 * @param sign signs bytes with the key that `header.kid` names, under `header.alg`. @returns 64 bytes
 */
export async function signJws(
  header: JwsHeader,
  payload: object,
  sign: (message: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<string> {
  const { alg, kid, typ } = header
  const input = `${encodeJson({ alg, kid, typ })}.${encodeJson(payload)}`
  return `${input}.${encodeBase64Url(await sign(utf8(input)))}`
}

/**
 * Parses a token in compact form. A trailing `~` (an SD-JWT without disclosures) is allowed.
 * Headers that bring their own key, or extensions that must be understood, are refused.
 * @throws InvalidTokenError
 */
export function parseJws(text: string): ParsedJws {
  if (text.length > MAX_TOKEN_LENGTH) throw new InvalidTokenError('is too long.')
  const compact = text.endsWith('~') ? text.slice(0, -1) : text
  const parts = compact.split('.')
  const [head, body, tail] = parts
  if (parts.length !== 3 || !head || !body || !tail) {
    throw new InvalidTokenError('does not have three parts that are separated by dots.')
  }
  const signature = decodeBase64Url(tail)
  if (signature?.length !== 64) throw new InvalidTokenError('has no signature of 64 bytes.')
  return {
    header: headerOf(objectOf(head, 'header')),
    payload: objectOf(body, 'payload'),
    signingInput: utf8(`${head}.${body}`),
    signature,
  }
}

function headerOf(members: Readonly<Record<string, unknown>>): JwsHeader {
  for (const name of REFUSED_MEMBERS) {
    if (Object.hasOwn(members, name)) {
      throw new InvalidTokenError(`has the header member ${name}, which is refused.`)
    }
  }
  const { alg, kid, typ } = members
  const algorithm = JWS_ALGORITHMS.find((each) => each === alg)
  if (algorithm === undefined) {
    throw new InvalidTokenError(`is not signed with ${JWS_ALGORITHMS.join(' or ')}.`)
  }
  if (typeof kid !== 'string' || typeof typ !== 'string') {
    throw new InvalidTokenError('has no kid or no typ.')
  }
  return { alg: algorithm, kid, typ }
}

/** The bytes `{"` in base64url: what guards of signers look for (`foreignTextIn`), and what `signJws` writes. */
const HEADER_START = /^ey[I-L]/

function objectOf(part: string, name: 'header' | 'payload'): Readonly<Record<string, unknown>> {
  const bytes = decodeBase64Url(part)
  let value: unknown = null
  try {
    if (bytes !== null) value = parseJsonBytes(bytes)
  } catch {
    // Reported below, like every other value that is not an object.
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidTokenError(`has a ${name} that is not a JSON object.`)
  }
  if (name === 'header' && !HEADER_START.test(part)) {
    throw new InvalidTokenError('has a header that does not begin with {".')
  }
  return value as Record<string, unknown>
}

function encodeJson(value: object): string {
  return encodeBase64Url(utf8(JSON.stringify(value)))
}
