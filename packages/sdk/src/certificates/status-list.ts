import {
  InvalidTokenError,
  parseJws,
  STATUS_BITS,
  STATUS_LIST_BYTES,
  STATUS_VALUES,
  statusAt,
  TOKEN_TYPES,
  verifyToken,
} from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import { inflateBase64Url } from './inflate.ts'
import type { FeedPosition, IssuerJwk } from './types.ts'
import { verifyJwkSignature } from './verify-jwk-signature.ts'

/** `valid`; `suspended`, which may end; `invalid`: replaced or revoked permanently. */
export type TokenStatus = 'valid' | 'suspended' | 'invalid'

/** A verified token status list (draft-ietf-oauth-status-list). */
export interface StatusList {
  readonly uri: string
  /** In milliseconds since 1970. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** Seconds for which it may be used without asking for a newer one. */
  readonly ttl: number
  /** 2 bits an entry, the least significant first; 32,768 bytes. */
  readonly bytes: Uint8Array
  /** The place in the feed that the list is of, or newer; null if the issuer names none. */
  readonly feed: FeedPosition | null
}

/** What a status list is verified against. */
export interface StatusListContext {
  /** The origin whose list it must be. */
  readonly issuer: string
  /** The address that the list must be for. */
  readonly uri: string
  /** The keys of that issuer, of which one must have this `kid`. */
  readonly keysFor: (kid: string) => Promise<readonly IssuerJwk[]> | readonly IssuerJwk[]
  /** Milliseconds since 1970. */
  readonly now: number
}

const MAX_TTL = 3_600

/**
 * Verifies a status list token: type, signature, address, times, size.
 * @throws CountersignError INVALID_TOKEN
 */
export async function readStatusList(
  text: string,
  { issuer, uri, keysFor, now }: StatusListContext,
): Promise<StatusList> {
  assertListOf(issuer, uri)
  return orInvalidToken('status list', async () => {
    const keys = await keysFor(parseJws(text).header.kid)
    const expected = { typ: TOKEN_TYPES.statusList, issuer: null, keys, now: now / 1000 }
    const { payload } = await verifyToken(text, expected, verifyJwkSignature)
    const { sub, iss = issuer, iat, exp, ttl = 0, status_list: list, feed } = payload
    if (sub !== uri) throw new InvalidTokenError('is for another address.')
    if (iss !== issuer) throw new InvalidTokenError(`was not issued by ${issuer}.`)
    const bytes = await bytesIn(list)
    if (bytes === null) throw new InvalidTokenError('contains no list of 131,072 entries.')
    if (typeof ttl !== 'number' || !(ttl >= 0)) throw new InvalidTokenError('has a wrong ttl.')
    const position = positionOf(feed)
    if (feed !== undefined && position === null) throw new InvalidTokenError('has a wrong feed.')
    return {
      uri,
      bytes,
      feed: position,
      issuedAt: (iat as number) * 1000,
      expiresAt: (exp as number) * 1000,
      ttl: Math.min(ttl, MAX_TTL),
    }
  })
}

/** The status of an entry. What the draft does not assign, or the list does not have, is `invalid`. */
export function statusIn({ bytes }: Pick<StatusList, 'bytes'>, idx: number): TokenStatus {
  const value = statusAt(bytes, idx)
  if (value === STATUS_VALUES.valid) return 'valid'
  return value === STATUS_VALUES.suspended ? 'suspended' : 'invalid'
}

/** Whether an address is one at which an issuer serves its status lists. */
export function isListOf(issuer: string, uri: string): boolean {
  return uri.startsWith(`${issuer}/status/`) && /^\d{1,10}$/.test(uri.slice(issuer.length + 8))
}

function assertListOf(issuer: string, uri: string): void {
  if (isListOf(issuer, uri)) return
  throw new CountersignError('INVALID_TOKEN', 'The status list belongs to another issuer.')
}

/** Other issuers of status lists have no feed. */
function positionOf(feed: unknown): FeedPosition | null {
  const { epoch, n } = (feed ?? {}) as Readonly<Record<string, unknown>>
  const isPosition = typeof epoch === 'string' && Number.isSafeInteger(n) && (n as number) >= 0
  return isPosition ? { epoch, n: n as number } : null
}

async function bytesIn(list: unknown): Promise<Uint8Array | null> {
  if (typeof list !== 'object' || list === null) return null
  const { bits, lst } = list as Readonly<Record<string, unknown>>
  if (bits !== STATUS_BITS || typeof lst !== 'string') return null
  const bytes = await inflateBase64Url(lst, STATUS_LIST_BYTES)
  return bytes?.length === STATUS_LIST_BYTES ? bytes : null
}

/** Turns the refusal of a token into an error of this package. @param what names the token */
export async function orInvalidToken<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof InvalidTokenError)) throw cause
    throw new CountersignError('INVALID_TOKEN', `The ${what} ${cause.message}`, { cause })
  }
}
