import { randomBytes } from 'node:crypto'
import {
  CodedError,
  chainStart,
  type FeedHeadClaims,
  InvalidTokenError,
  parseJws,
  TOKEN_TYPES,
  verifyToken,
} from '@countersign/protocol'
import { chainAt, oldestFeedChange } from '../../agents/changes/feed-change-table.ts'
import type { Db } from '../../database/database.ts'
import { eventsAfter } from '../../database/event-table.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'
import { verifyWithOwnKey } from '../../secrets/issuer-keys/verify-with-own-key.ts'
import { seal, unseal } from '../../secrets/seal.ts'
import type { Pepper } from '../../secrets/secrets.ts'
import { digestOf } from './status-event-table.ts'
import type { CurrentPosition, StatusState } from './status-state.ts'

/** Seconds until a head expires, so that an old one cannot pass for a new one for long. */
const LIFETIME = 60
/** A head that is younger is not signed again, unless there are newer changes. */
const REUSE_MS = 1000

/** The purpose of the key of marks. */
const MARK = 'feed-mark-v1'
/** Of the digest of an event, in a mark. */
const DIGEST_BYTES = 16

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

export interface HeadDeps extends TokenDeps {
  readonly pepper: Pepper
  /** Small reads of the database. */
  readonly db: Db
}

/** What a cursor says. */
type Cursor = Pick<FeedHeadClaims, 'epoch' | 'n' | 'chain' | 'mark'>

/** Signs heads of the feed, which are also its cursors. */
export class FeedHeads {
  readonly #deps: HeadDeps
  #newest: SignedHead | null = null

  constructor(deps: HeadDeps) {
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

  async #sign(position: CurrentPosition): Promise<string> {
    const { issuerKeys, baseUrl } = this.#deps
    const { epoch, n, chain, asOf } = position
    const iat = Math.floor(asOf / 1000)
    const times = { iat, exp: iat + LIFETIME }
    const mark = this.#markOf(position)
    const claims: FeedHeadClaims = { iss: baseUrl, ...times, epoch, n, chain, asOf, mark }
    return issuerKeys.sign(TOKEN_TYPES.feedHead, claims)
  }

  /**
   * The newest event of any kind, sealed: from a cursor, the service notices that it has lost a private event or an allocation.
   * Readers could guess one from a digest.
   */
  #markOf({ epoch, n, last }: CurrentPosition): string {
    const text = Buffer.alloc(8 + DIGEST_BYTES)
    text.writeBigUInt64BE(BigInt(last?.seq ?? 0))
    digestOf(last).copy(text, 8, 0, DIGEST_BYTES)
    const nonce = randomBytes(12)
    return seal(this.#deps.pepper, MARK, text, additional(epoch, n), nonce).toString('base64url')
  }

  /**
   * Finds where the feed continues after a cursor. A node that is behind catches up first.
   * @param cursor a head of this service, expired or not; `0`: the beginning
   * @returns the number of the last change that the client knows
   * @throws CodedError VALIDATION_ERROR; CURSOR_EXPIRED if the cursor is of another epoch, too old or not ours; what `state.lists` throws
   */
  async changeOf(cursor: string): Promise<number> {
    const { state, db } = this.#deps
    const { epoch, n } = state.position
    if (cursor === '0') {
      const oldest = await oldestFeedChange(db, epoch)
      if (n === 0 || oldest === 1) return 0
      throw this.#expired(TOO_OLD)
    }
    const wanted = await this.#read(cursor)
    if (wanted.epoch !== epoch || wanted.n > n) await state.syncToLatest()
    if (wanted.epoch !== state.position.epoch) throw this.#expired(LOST)
    switch (await this.#compare(wanted)) {
      case 'same':
        return wanted.n
      case 'too old':
        throw this.#expired(TOO_OLD)
      case 'lost':
        // The signature proves that this service has published it.
        state.reportLoss()
        throw this.#expired(LOST)
    }
  }

  async #compare(wanted: Cursor): Promise<'same' | 'too old' | 'lost'> {
    if (wanted.n > this.#deps.state.position.n || !(await this.#isMarkKnown(wanted))) return 'lost'
    const chain = await this.#chainOf(wanted)
    if (chain === null) return 'too old'
    return Buffer.from(chain).toString('base64url') === wanted.chain ? 'same' : 'lost'
  }

  /** The chain at the place of a cursor; null if the database no longer has it. */
  async #chainOf({ epoch, n }: Cursor): Promise<Uint8Array | null> {
    const { db, baseUrl, state } = this.#deps
    if (n > 0) return chainAt(db, epoch, n)
    const isKept = state.position.n === 0 || (await oldestFeedChange(db, epoch)) === 1
    return isKept ? chainStart(baseUrl, epoch) : null
  }

  /** Whether the event of a mark is still there. One that does not open says nothing: it is of another pepper. */
  async #isMarkKnown({ epoch, n, mark }: Cursor): Promise<boolean> {
    const { pepper, db, state } = this.#deps
    const sealed = Buffer.from(mark, 'base64url')
    const text = unseal(pepper, MARK, sealed, additional(epoch, n))
    if (text === null) return true
    const seq = Number(text.readBigUInt64BE())
    if (seq > (state.position.last?.seq ?? 0)) await state.syncToLatest()
    const [event] = seq === 0 ? [null] : await eventsAfter(db, seq - 1, 1)
    if (event === undefined || (event !== null && event.seq !== seq)) return false
    return digestOf(event).subarray(0, DIGEST_BYTES).equals(text.subarray(8))
  }

  async #read(cursor: string): Promise<Cursor> {
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
      await verifyToken(cursor, expected, verifyWithOwnKey)
      if (!isCursor(payload)) throw new InvalidTokenError('has other claims than a head.')
      return payload
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

const LOST = 'Events were lost since.'
const TOO_OLD = 'Changes are kept for 30 days.'

/** What a mark is bound to. */
function additional(epoch: string, n: number): string {
  return `${epoch}\n${n}`
}

/** A head that an older release has signed has other claims. */
function isCursor(payload: object): payload is Cursor {
  const { epoch, n, chain, mark } = payload as Partial<Cursor>
  const texts = [epoch, chain, mark]
  return Number.isSafeInteger(n) && texts.every((each) => typeof each === 'string')
}

function isCurrent(a: CurrentPosition, b: CurrentPosition): boolean {
  return a.epoch === b.epoch && a.n === b.n && Math.abs(b.asOf - a.asOf) < REUSE_MS
}
