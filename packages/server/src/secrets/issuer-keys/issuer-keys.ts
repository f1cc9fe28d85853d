import { randomUUID } from 'node:crypto'
import {
  CodedError,
  GRANT_TOKEN_TYPE,
  type GrantKeySet,
  type IssuerKeySet,
  type JwsAlgorithm,
  type SET_TOKEN_TYPE,
  type TokenType,
} from '@countersign/protocol'
import {
  type Database,
  type Db,
  type IssuerKeyRow,
  StorageFailure,
} from '../../database/database.ts'
import type { SecretFolders } from '../secrets.ts'
import { issuerKeyRows, writeIssuerKeyReport } from './issuer-key-table.ts'
import { type IssuerKeyPair, issuerKeyFile, readIssuerKey } from './key-pair.ts'
import {
  advanceRotation,
  ensureIssuerKey,
  isPublished,
  isRemovable,
  jwksOf,
  KEY_SET_LIFETIME_MS,
  readReadiness,
} from './rotation.ts'

/** A node that has not read the state of the keys for longer might publish or use one that is compromised. */
const MAX_AGE_MS = 30_000
const REPORT_EVERY_MS = 10_000

/** A type of token that the keys sign. */
export type SignedType = TokenType | typeof SET_TOKEN_TYPE

/** The keys that sign certificates, status lists, the feed and Security Event Tokens. */
export interface IssuerKeys {
  /** The public keys (`/.well-known/jwks.json`). @throws StorageFailure if this node cannot read their state */
  keySet(): IssuerKeySet
  /** The `kid` of the tokens that `sign` makes now. @throws what `sign` throws */
  kid(alg?: JwsAlgorithm): string
  /**
   * Signs a token in compact form.
   * @param alg `EdDSA` unless given
   * @throws StorageFailure if this node cannot read the state of the keys; CodedError UNAVAILABLE if it lacks the active key's file
   */
  sign(typ: SignedType, payload: object, alg?: JwsAlgorithm): string
  /** The public keys of a grant issuer. They change with every rotation. @throws StorageFailure if this node cannot read their state */
  grantKeySet(grantIssuer: string): GrantKeySet
  /** Signs a grant with the key of a grant issuer (ES256). @throws what `sign` throws */
  signGrant(grantIssuer: string, payload: object): string
}

/** This node lacks the key that signs, or its file was changed. */
export class OtherIssuerKeyError extends Error {
  override readonly name = 'OtherIssuerKeyError'

  constructor(id: string, found: 'other' | 'missing') {
    const problem = found === 'missing' ? 'is missing in DATA_DIR' : 'has been changed'
    super(
      `${issuerKeyFile(id)} ${problem}. Copy that file from another node or from the backup. If it is lost, run: countersignd issuer-key rotate --compromised`,
    )
  }
}

/**
 * Compares the active key with the files of this node. Creates nothing.
 * @returns null if no key exists yet
 */
export async function checkIssuerKey(
  db: Db,
  folders: SecretFolders,
): Promise<{ readonly id: string; readonly found: 'same' | 'other' | 'missing' } | null> {
  const active = (await issuerKeyRows(db)).find(({ state }) => state === 'active')
  if (active === undefined) return null
  const found = readIssuerKey(folders, active.id)
  return { id: active.id, found: typeof found === 'string' ? found : 'same' }
}

interface Parts {
  readonly db: Database
  readonly folders: SecretFolders
  readonly certificateLifetimeMs: number
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** A monotonic clock, in milliseconds. */
  readonly elapsed: () => number
}

/** The state of the keys at one time. */
interface State {
  readonly keySet: IssuerKeySet
  /** Those of the key set whose files this node has. */
  readonly pairs: readonly IssuerKeyPair[]
  /** Null: this node lacks the file. */
  readonly signer: IssuerKeyPair | null
  /** By `elapsed`. */
  readonly readAt: number
}

/** Follows the rotation of the keys in the database, and takes part in it. */
export class IssuerKeyRing implements IssuerKeys {
  readonly #parts: Parts
  readonly #node = randomUUID()
  readonly #pairs = new Map<string, IssuerKeyPair>()
  #state: State
  /** Since when this process holds the published key: by `now`, and by `elapsed`. */
  #held: { readonly at: number; readonly elapsed: number } | null = null
  #reported: { readonly id: string; readonly at: number; readonly held: boolean } | null = null

  private constructor(parts: Parts) {
    this.#parts = parts
    this.#state = {
      keySet: { keys: [] },
      pairs: [],
      signer: null,
      readAt: Number.NEGATIVE_INFINITY,
    }
  }

  /** Opens the keys, which all nodes share. The first node makes them. @throws OtherIssuerKeyError */
  static async open(parts: Parts): Promise<IssuerKeyRing> {
    await ensureIssuerKey(parts)
    const active = await checkIssuerKey(parts.db.read, parts.folders)
    if (active !== null && active.found !== 'same')
      throw new OtherIssuerKeyError(active.id, active.found)
    const ring = new IssuerKeyRing(parts)
    await ring.refresh()
    return ring
  }

  keySet(): IssuerKeySet {
    return this.#current().keySet
  }

  kid(alg: JwsAlgorithm = 'EdDSA'): string {
    return this.#signer().jwks[alg].kid
  }

  sign(typ: SignedType, payload: object, alg: JwsAlgorithm = 'EdDSA'): string {
    const signer = this.#signer()
    // As signJws of the protocol does it, with Node's base64url, which takes a tenth of the time.
    const header = { alg, kid: signer.jwks[alg].kid, typ }
    return compactJws(header, payload, (input) => signer.sign(alg, input))
  }

  grantKeySet(grantIssuer: string): GrantKeySet {
    const { pairs } = this.#current()
    return { keys: pairs.map((pair) => pair.ofGrantIssuer(grantIssuer).jwk) }
  }

  signGrant(grantIssuer: string, payload: object): string {
    const { jwk, sign } = this.#signer().ofGrantIssuer(grantIssuer)
    return compactJws({ alg: jwk.alg, kid: jwk.kid, typ: GRANT_TOKEN_TYPE }, payload, sign)
  }

  /** Reads the state of the keys, reports on a rotation, and does what is due. Call it about once a second. */
  async refresh(): Promise<void> {
    const { db, elapsed, now } = this.#parts
    const readAt = elapsed()
    const rows = await issuerKeyRows(db.read)
    this.#apply(rows, readAt)
    const next = rows.find(({ state }) => state === 'published')
    if (next !== undefined) await this.#report(next)
    const isDue = rows.some((row) => isRemovable(row, now())) || (await this.#isReady(next))
    if (!isDue) return
    const { certificateLifetimeMs } = this.#parts
    await db.write((tx) => advanceRotation(tx, now(), certificateLifetimeMs))
    const after = elapsed()
    this.#apply(await issuerKeyRows(db.read), after)
  }

  async #isReady(next: IssuerKeyRow | undefined): Promise<boolean> {
    if (next === undefined) return false
    const { db, now, elapsed } = this.#parts
    // A clock that is ahead must not activate a key that verifiers do not know yet.
    if (this.#held === null || elapsed() - this.#held.elapsed < KEY_SET_LIFETIME_MS) return false
    const { activeFrom } = await readReadiness(db.read, next, now())
    return activeFrom !== null && activeFrom <= now()
  }

  #apply(rows: readonly IssuerKeyRow[], readAt: number): void {
    const published = rows.filter(isPublished)
    for (const id of this.#pairs.keys())
      if (!published.some((row) => row.id === id)) this.#pairs.delete(id)
    for (const { id } of published) this.#load(id)
    const active = published.find(({ state }) => state === 'active')
    this.#state = {
      keySet: { keys: published.flatMap(jwksOf) },
      pairs: published.flatMap(({ id }) => this.#pairs.get(id) ?? []),
      signer: active === undefined ? null : (this.#pairs.get(active.id) ?? null),
      readAt,
    }
  }

  /** The file of a new key may be copied here at any time. */
  #load(id: string): void {
    if (this.#pairs.has(id)) return
    const found = readIssuerKey(this.#parts.folders, id)
    if (typeof found !== 'string') this.#pairs.set(id, found)
  }

  async #report({ id }: IssuerKeyRow): Promise<void> {
    const { db, now, elapsed } = this.#parts
    const at = now()
    const held = this.#pairs.has(id)
    const last = this.#reported?.id === id ? this.#reported : null
    if (last !== null && last.held === held && Math.abs(at - last.at) < REPORT_EVERY_MS) return
    if (last?.held !== held) this.#held = held ? { at, elapsed: elapsed() } : null
    const held_since = this.#held?.at ?? null
    const report = { key_id: id, node: this.#node, held_since, seen_at: at }
    await db.write((tx) => writeIssuerKeyReport(tx, report))
    this.#reported = { id, at, held }
  }

  #signer(): IssuerKeyPair {
    const { signer } = this.#current()
    if (signer !== null) return signer
    throw new CodedError(
      'UNAVAILABLE',
      'This node does not have the key that signs certificates. The operator must copy its file.',
      { retryAfterSeconds: 5 },
    )
  }

  #current(): State {
    if (this.#parts.elapsed() - this.#state.readAt <= MAX_AGE_MS) return this.#state
    throw new StorageFailure('The state of the issuer keys cannot be read.')
  }
}

function compactJws(
  header: object,
  payload: object,
  sign: (input: Uint8Array) => Uint8Array,
): string {
  const input = `${base64Url(JSON.stringify(header))}.${base64Url(JSON.stringify(payload))}`
  return `${input}.${base64Url(sign(Buffer.from(input, 'latin1')))}`
}

function base64Url(data: string | Uint8Array): string {
  return Buffer.from(data as string).toString('base64url')
}
