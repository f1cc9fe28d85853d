import {
  encodeBase64Url,
  InvalidTokenError,
  parseJws,
  STATUS_LIST_BYTES,
  TOKEN_TYPES,
  type TokenType,
  verifyToken,
} from '@countersign/protocol'
import { sha256 } from '@noble/hashes/sha2.js'
import { type Read, UnexpectedShape, wireReader } from '../responses/read-schema.ts'
import * as schemas from '../responses/schemas.ts'
import { inflateBase64Url } from './inflate.ts'
import { orInvalidToken, type StatusListContext } from './status-list.ts'
import type { FeedChange, FeedPosition } from './types.ts'
import { verifyJwkSignature } from './verify-jwk-signature.ts'

/** What tokens of the feed are verified against. */
export type FeedContext = Omit<StatusListContext, 'uri'>

/** A verified head of the feed. */
export interface FeedHead extends FeedPosition {
  /** The token itself, the cursor from which the feed continues. */
  readonly token: string
  /** SHA-256 over all changes of the epoch up to `n`, base64url. */
  readonly chain: string
  /** Milliseconds since 1970: the time up to which the service knew its data. */
  readonly asOf: number
  /** The `kid` of the issuer's key. */
  readonly kid: string
}

/** All status lists of an issuer in one state. */
export interface StatusSnapshot {
  readonly head: FeedHead
  /** By the number of the list: 32,768 bytes each. */
  readonly lists: ReadonlyMap<number, Uint8Array>
}

/** A line of the feed: a change, which is not signed, or the token of a head. */
export type FeedLineRead =
  | { readonly change: FeedChange; readonly head?: never }
  | { readonly head: string; readonly change?: never }

/** Reads a line of the feed. @throws CountersignError INVALID_TOKEN */
export function readFeedLine(value: unknown): Promise<FeedLineRead> {
  return orInvalidToken('line of the feed', async () => {
    const { head } = (value ?? {}) as { head?: unknown }
    if (typeof head === 'string') return { head }
    return { change: shaped(value, wireReader(schemas.FEED_CHANGE, null)) }
  })
}

/** Verifies a head of the feed. @throws CountersignError INVALID_TOKEN */
export function readFeedHead(token: string, context: FeedContext): Promise<FeedHead> {
  return orInvalidToken('head of the feed', async () => {
    const type = TOKEN_TYPES.feedHead
    const { claims, kid } = await claimsOf(
      token,
      type,
      context,
      wireReader(schemas.FEED_HEAD_CLAIMS, null),
    )
    const { epoch, n, chain, asOf } = claims
    return { token, epoch, n, chain, asOf, kid }
  })
}

/**
 * Verifies a snapshot of all status lists: signature, times, and that exactly the lists of its manifest are in it.
 * @param body the parsed response of `/api/v1/snapshot`
 * @throws CountersignError INVALID_TOKEN
 */
export function readSnapshot(body: unknown, context: FeedContext): Promise<StatusSnapshot> {
  return orInvalidToken('snapshot', async () => {
    const snapshot = shaped(body, wireReader(schemas.SNAPSHOT, null))
    const type = TOKEN_TYPES.snapshot
    const { claims } = await claimsOf(
      snapshot.manifest,
      type,
      context,
      wireReader(schemas.SNAPSHOT_CLAIMS, null),
    )
    const head = await readFeedHead(snapshot.head, context)
    const { epoch, n, chain } = claims
    if (head.epoch !== epoch || head.n !== n || head.chain !== chain) {
      throw new InvalidTokenError('has the head of another state.')
    }
    const hashes = new Map(claims.lists.map(({ list, hash }) => [list, hash]))
    if (hashes.size !== claims.lists.length || snapshot.lists.length !== hashes.size) {
      throw new InvalidTokenError('has other lists than its manifest.')
    }
    const lists = new Map<number, Uint8Array>()
    for (const { list, lst } of snapshot.lists) {
      const bytes = await inflateBase64Url(lst, STATUS_LIST_BYTES)
      const isSame = bytes !== null && encodeBase64Url(sha256(bytes)) === hashes.get(list)
      if (!isSame || bytes.length !== STATUS_LIST_BYTES) {
        throw new InvalidTokenError('has another list than its manifest.')
      }
      lists.set(list, bytes)
    }
    if (lists.size !== hashes.size) throw new InvalidTokenError('lacks lists of its manifest.')
    return { head, lists }
  })
}

async function claimsOf<T extends { readonly iss: string }>(
  token: string,
  typ: TokenType,
  { issuer, keysFor, now }: FeedContext,
  read: Read<T>,
): Promise<{ claims: T; kid: string }> {
  const { kid } = parseJws(token).header
  const expected = { typ, issuer, keys: await keysFor(kid), now: now / 1000 }
  const { payload } = await verifyToken(token, expected, verifyJwkSignature)
  return { claims: shaped(payload, read), kid }
}

function shaped<T>(value: unknown, read: Read<T>): T {
  try {
    return read(value)
  } catch (error) {
    if (!(error instanceof UnexpectedShape)) throw error
    throw new InvalidTokenError('has another shape than it should have.')
  }
}
