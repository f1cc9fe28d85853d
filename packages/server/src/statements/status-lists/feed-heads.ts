import { createPublicKey, verify } from 'node:crypto'
import {
  algorithmOf,
  CodedError,
  type FeedHeadClaims,
  InvalidTokenError,
  type IssuerJwk,
  parseJws,
  TOKEN_TYPES,
  verifyToken,
} from '@countersign/protocol'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'
import type { CurrentPosition, FeedPosition, StatusState } from './status-state.ts'

/** Seconds until a head expires, so that an old one cannot pass for a new one for long. */
const LIFETIME = 60
/** A head that is younger is not signed again, unless there are newer events. */
const REUSE_MS = 1000

export interface TokenDeps {
  readonly state: StatusState
  readonly issuerKeys: IssuerKeys
  /** Without a slash at the end. */
  readonly baseUrl: string
}

interface SignedHead {
  /** A token of a key that was taken out of use is never handed out again. */
  readonly kid: string
  readonly position: CurrentPosition
  readonly token: Promise<string>
}

/** Signs heads of the feed, which are also its cursors. */
export class FeedHeads {
  readonly #deps: TokenDeps
  #newest: SignedHead | null = null

  constructor(deps: TokenDeps) {
    this.#deps = deps
  }

  /** The head of a position. @throws what `IssuerKeys.sign` throws */
  async at(position: CurrentPosition): Promise<string> {
    const newest = this.#newest
    const kid = this.#deps.issuerKeys.kid()
    if (newest?.kid === kid && isCurrent(newest.position, position)) return newest.token
    const token = this.#sign(position)
    token.catch(() => {
      if (this.#newest?.token === token) this.#newest = null
    })
    this.#newest = { kid, position, token }
    return token
  }

  async #sign({ epoch, seq, asOf, digest }: CurrentPosition): Promise<string> {
    const { issuerKeys, baseUrl } = this.#deps
    const iat = Math.floor(asOf / 1000)
    const times = { iat, exp: iat + LIFETIME }
    const claims: FeedHeadClaims = { iss: baseUrl, ...times, epoch, seq, asOf, digest }
    return issuerKeys.sign(TOKEN_TYPES.feedHead, claims)
  }

  /**
   * Finds where the feed continues after a cursor. A node that is behind catches up first.
   * @param cursor a head of this service, expired or not; `0`: the beginning
   * @returns the sequence number of the last event that the client knows
   * @throws CodedError VALIDATION_ERROR; CURSOR_EXPIRED if the cursor is of another epoch or not ours; what `state.lists` throws
   */
  async seqOf(cursor: string): Promise<number> {
    const { state } = this.#deps
    const { epoch, seq } = state.position
    if (cursor === '0') return 0
    const wanted = await this.#read(cursor)
    if (wanted.epoch !== epoch || wanted.seq > seq) await state.syncToLatest()
    const current = state.position
    if (wanted.epoch !== current.epoch) throw this.#expired('Events were lost since.')
    if (wanted.seq <= current.seq && (await state.isKnown(wanted))) return wanted.seq
    // The signature proves that this service has published the event.
    state.reportLoss()
    throw this.#expired('Events were lost since.')
  }

  async #read(cursor: string): Promise<FeedPosition> {
    const { baseUrl, issuerKeys } = this.#deps
    const { keys } = issuerKeys.keySet()
    try {
      const { header, payload } = parseJws(cursor)
      const { typ, kid } = header
      if (typ === TOKEN_TYPES.feedHead && keys.every((each) => each.kid !== kid)) {
        throw this.#expired('It is signed with a key that is no longer valid.')
      }
      // A cursor may be old: it is verified as of its own time.
      const now = typeof payload.iat === 'number' ? payload.iat : 0
      const expected = { typ: TOKEN_TYPES.feedHead, issuer: baseUrl, keys, now }
      await verifyToken(cursor, expected, verifyWithJwk)
      return payload as unknown as FeedPosition
    } catch (error) {
      if (!(error instanceof InvalidTokenError)) throw error
      throw new CodedError(
        'VALIDATION_ERROR',
        `after is 0, or a head of this feed. The token ${error.message}`,
        { cause: error },
      )
    }
  }

  #expired(reason: string): CodedError {
    return new CodedError(
      'CURSOR_EXPIRED',
      `The feed does not continue from this cursor. ${reason} Load ${this.#deps.baseUrl}/api/v1/snapshot, and continue from its head.`,
    )
  }
}

function isCurrent(a: CurrentPosition, b: CurrentPosition): boolean {
  return a.epoch === b.epoch && a.seq === b.seq && Math.abs(b.asOf - a.asOf) < REUSE_MS
}

/** Verifies a signature of the service's own. */
function verifyWithJwk(jwk: IssuerJwk, message: Uint8Array, signature: Uint8Array): boolean {
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  const algorithm = algorithmOf(jwk) === 'EdDSA' ? null : 'sha256'
  return verify(algorithm, message, { key, dsaEncoding: 'ieee-p1363' }, signature)
}
