import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  CodedError,
  type Snapshot,
  type SnapshotClaims,
  STATUS_BITS,
  TOKEN_TYPES,
} from '@countersign/protocol'
import type { FeedHeads, TokenDeps } from './feed-heads.ts'
import { statusListUri } from './status-entries.ts'
import type { PublishedList } from './status-lists.ts'
import type { CurrentPosition } from './status-state.ts'

const compress = promisify(gzip)

/** How long a token or snapshot is served before it is signed again, in milliseconds, and `max-age` of responses. */
const REUSE_MS = 5000
/** Seconds until verifiers should fetch a list again (draft-ietf-oauth-status-list section 5.1). */
const TTL = 30
/** Seconds until a list or a snapshot expires. */
const LIFETIME = 600

interface SignedList {
  /** A token of a key that was taken out of use is never handed out again. */
  readonly kid: string
  readonly published: PublishedList
  readonly epoch: string
  readonly asOf: number
  readonly token: Promise<string>
}

interface MadeSnapshot {
  readonly kid: string
  readonly position: CurrentPosition
  readonly body: Promise<SnapshotBody>
}

/** A snapshot as JSON, plain and compressed. */
export interface SnapshotBody {
  readonly json: string
  readonly gzip: Buffer
}

export interface StatusTokenDeps extends TokenDeps {
  readonly heads: FeedHeads
  /** The place of the newest head that was sent to those who follow the feed. */
  readonly sent: () => CurrentPosition | null
}

/** Signs status lists and snapshots. */
export class StatusTokens {
  readonly #deps: StatusTokenDeps
  readonly #lists = new Map<number, SignedList>()
  #snapshot: MadeSnapshot | null = null

  constructor(deps: StatusTokenDeps) {
    this.#deps = deps
  }

  /**
   * A status list as a token (draft-ietf-oauth-status-list section 5.1).
   * @throws CodedError NOT_FOUND, UNAVAILABLE; StorageFailure
   */
  async list(list: number): Promise<string> {
    const { state } = this.#deps
    // Another node may just have begun the list.
    if (!state.lists.has(list)) await state.syncToLatest()
    // In one turn of the event loop, so that the list is at least as new.
    const position = state.position
    const published = await state.lists.publish(list)
    if (published === undefined) {
      throw new CodedError('NOT_FOUND', 'There is no status list with this number.')
    }
    const kid = this.#deps.issuerKeys.kid()
    const known = this.#lists.get(list)
    const isKnown =
      known?.kid === kid && known.published === published && known.epoch === position.epoch
    if (isKnown && position.asOf - known.asOf < REUSE_MS && position.asOf >= known.asOf) {
      return known.token
    }
    const token = this.#sign(published, position)
    const { epoch, asOf } = position
    this.#lists.set(list, { kid, published, epoch, asOf, token })
    token.catch(() => this.#lists.delete(list))
    return token
  }

  async #sign({ list, lst }: PublishedList, { epoch, n, asOf }: CurrentPosition): Promise<string> {
    const { issuerKeys, baseUrl } = this.#deps
    return issuerKeys.sign(TOKEN_TYPES.statusList, {
      sub: statusListUri(baseUrl, list),
      ...timesOf(asOf),
      ttl: TTL,
      feed: { epoch, n },
      status_list: { bits: STATUS_BITS, lst },
    })
  }

  /**
   * All lists in one state, which may be 5 seconds old. It is never older than the newest head that was sent: a follower that misses a
   * change because of that head finds it here.
   * @throws CodedError UNAVAILABLE; StorageFailure
   */
  async snapshot(): Promise<SnapshotBody> {
    const { state, issuerKeys } = this.#deps
    const { position } = state
    const kid = issuerKeys.kid()
    const made = this.#snapshot
    const isKnown = made?.kid === kid && made.position.epoch === position.epoch
    if (isKnown && this.#isCurrent(made.position, position)) return made.body
    const body = this.#makeSnapshot()
    this.#snapshot = { kid, position, body }
    body.catch(() => {
      this.#snapshot = null
    })
    return body
  }

  #isCurrent(made: CurrentPosition, { asOf }: CurrentPosition): boolean {
    const sent = this.#deps.sent()
    const isSent = sent === null || (made.asOf >= sent.asOf && made.n >= sent.n)
    return isSent && Math.abs(asOf - made.asOf) < REUSE_MS
  }

  async #makeSnapshot(): Promise<SnapshotBody> {
    const { state, heads, issuerKeys, baseUrl } = this.#deps
    // In one turn of the event loop: the position is that of the lists.
    const position = state.position
    const lists = await state.lists.publishAll()
    const { epoch, n, chain, asOf } = position
    const claims: SnapshotClaims = {
      iss: baseUrl,
      ...timesOf(asOf),
      epoch,
      n,
      chain,
      asOf,
      lists: lists.map(({ list, hash }) => ({ list, hash })),
    }
    const snapshot: Snapshot = {
      manifest: await issuerKeys.sign(TOKEN_TYPES.snapshot, claims),
      head: await heads.at(position),
      lists: lists.map(({ list, lst }) => ({ list, lst })),
    }
    const json = JSON.stringify(snapshot)
    return { json, gzip: await compress(json) }
  }
}

function timesOf(asOf: number): { readonly iat: number; readonly exp: number } {
  const iat = Math.floor(asOf / 1000)
  return { iat, exp: iat + LIFETIME }
}
