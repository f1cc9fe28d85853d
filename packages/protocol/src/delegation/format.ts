import { sha256 } from '@noble/hashes/sha2.js'
import { decodeBase64Url, encodeBase64Url, utf8 } from '../encoding.ts'
import type { DelegationLimits } from '../http-signatures/signed-request-types.ts'
import { parseJsonBytes } from '../json.ts'
import { keyThumbprint, parseThumbprint } from '../public-key.ts'
import { readLimits } from './limits.ts'

// The form of chains: draft-ietf-oauth-delegate-sd-jwt, with the differences that docs/delegation.md lists. What a later draft may change is here.

/** The longest chain, in characters: servers and proxies limit headers. */
export const MAX_CHAIN_LENGTH = 6_144
/** The most hops of a chain. */
export const MAX_HOPS = 3
/** The longest duration of a hop, in seconds. */
export const MAX_DELEGATION_SECONDS = 86_400

const SEPARATOR = '~'
/** The protected header of each hop, as text. */
const HOP_HEADER = encodeBase64Url(utf8('{"alg":"EdDSA","typ":"kb+sd-jwt+kb"}'))
/** RFC 9278. */
const THUMBPRINT_URN = 'urn:ietf:params:oauth:jwk-thumbprint:sha-256:'

/** Whether the certificate header of a request carries a chain: only a certificate alone has a `~` at its end. */
export function isChain(value: string): boolean {
  const at = value.indexOf(SEPARATOR)
  return at >= 0 && at < value.length - 1
}

/** The tokens of a chain, as text. */
export interface ChainTokens {
  readonly certificate: string
  /** 1 to 3. */
  readonly hops: readonly string[]
}

/** @returns null unless each token is followed by one `~`, and one more joins it to the next */
export function splitChain(chain: string): ChainTokens | null {
  if (chain.length > MAX_CHAIN_LENGTH) return null
  const parts = chain.split(SEPARATOR)
  if (parts.length % 2 !== 0 || parts.some((each, at) => (each === '') !== (at % 2 === 1))) {
    return null
  }
  const [certificate = '', ...hops] = parts.filter((_, at) => at % 2 === 0)
  return hops.length >= 1 && hops.length <= MAX_HOPS ? { certificate, hops } : null
}

/** @param hops in compact form */
export function joinChain(certificate: string, hops: readonly string[]): string {
  return [certificate, ...hops].map((each) => each + SEPARATOR).join(SEPARATOR)
}

/** What binds a hop to the token before it: SHA-256 of its ASCII with one `~`, base64url. */
export function bindingOf(token: string): string {
  return encodeBase64Url(sha256(utf8(token + SEPARATOR)))
}

/** What a hop states. */
export interface HopClaims {
  /** The key that the hop is for: 32 bytes. */
  readonly publicKey: Uint8Array
  /** Unix seconds. */
  readonly iat: number
  readonly exp: number
  /** 22 to 128 characters of base64url. */
  readonly nonce: string
  /** `bindingOf` the token before it. */
  readonly binding: string
  /** How many hops may follow. */
  readonly maxDepth: number
  readonly limits: DelegationLimits
}

/** The bytes that the key before a hop signs, as text: ASCII. */
export function hopSigningInput(claims: HopClaims): string {
  return `${HOP_HEADER}.${encodeBase64Url(utf8(payloadOf(claims)))}`
}

/** A hop that was read and not yet verified. */
export interface ReadHop extends HopClaims {
  /** The JWK thumbprint of the key that the hop is for. */
  readonly keyid: string
  /** The bytes that were signed: ASCII. */
  readonly signingInput: Uint8Array
  /** 64 bytes. */
  readonly signature: Uint8Array
}

/**
 * Reads a hop. Its payload is written again and compared: that refuses white space, escapes, unknown, missing and repeated members, and any
 * other spelling of a value.
 * @param token in compact form
 * @returns null if it has another form, or a value out of range
 */
export function readHop(token: string): ReadHop | null {
  const parts = token.split('.')
  const [header, payload = '', end = ''] = parts
  const signature = decodeBase64Url(end)
  if (parts.length !== 3 || header !== HOP_HEADER || signature?.length !== 64) return null
  const bytes = decodeBase64Url(payload)
  const claims = bytes === null ? null : readPayload(bytes)
  if (claims === null) return null
  const signingInput = `${header}.${payload}`
  if (hopSigningInput(claims) !== signingInput) return null
  return {
    ...claims,
    keyid: keyThumbprint(claims.publicKey),
    signingInput: utf8(signingInput),
    signature,
  }
}

/** In the order of the members, which verifiers compare as text. */
function payloadOf({ publicKey, iat, exp, nonce, binding, maxDepth, limits }: HopClaims): string {
  const { origins, methods, paths, mcp } = limits
  return JSON.stringify({
    iat,
    aud: THUMBPRINT_URN + keyThumbprint(publicKey),
    nonce,
    sd_hash: binding,
    delegate_payload: [
      {
        exp,
        max_depth: maxDepth,
        cnf: { jwk: { kty: 'OKP', crv: 'Ed25519', x: encodeBase64Url(publicKey) } },
        limits: {
          origins,
          ...(methods !== null && { methods }),
          ...(paths !== null && { paths }),
          ...(mcp !== null && { mcp }),
        },
      },
    ],
  })
}

const NONCE = /^[A-Za-z0-9_-]{22,128}$/

/** The values of a payload. What they do not say of its text, `readHop` compares. */
function readPayload(bytes: Uint8Array): HopClaims | null {
  const { iat, nonce, sd_hash: binding, delegate_payload: payloads } = membersOf(parsed(bytes))
  const {
    exp,
    max_depth: maxDepth,
    cnf,
    limits,
  } = membersOf(Array.isArray(payloads) ? payloads[0] : null)
  const { x } = membersOf(membersOf(cnf).jwk)
  const publicKey = typeof x === 'string' ? parseThumbprint(x) : null
  const read = readLimits(limits)
  if (publicKey === null || read === null) return null
  if (!isUpTo(iat, MAX_TIME) || !isUpTo(exp, MAX_TIME) || !isUpTo(maxDepth, MAX_HOPS)) return null
  if (typeof nonce !== 'string' || !NONCE.test(nonce)) return null
  if (typeof binding !== 'string' || parseThumbprint(binding) === null) return null
  return { publicKey, iat, exp, nonce, binding, maxDepth, limits: read }
}

/** The year 5138, in seconds. */
const MAX_TIME = 99_999_999_999

function isUpTo(value: unknown, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return parseJsonBytes(bytes)
  } catch {
    return null
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
