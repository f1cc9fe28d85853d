import type { KeyObject } from 'node:crypto'
import { createPublicKey } from 'node:crypto'
import { CodedError, type EnrolmentKeys, type PlatformAlgorithm } from '@countersign/protocol'
import type { EnrolmentRuleRow } from '../../database/schema/enrolment-rows.ts'
import { OutcomeCounter } from '../../http/metrics/outcome-counter.ts'
import { parseJson } from '../../http/outbound/bounded-fetch.ts'
import type { Sender } from '../../http/outbound/open-sender.ts'
import { ProofAbsent, Unreachable } from '../../http/outbound/perspective.ts'

/** The keys of an issuer cannot be read. `message` is a sentence for the owner. */
export class PlatformKeysError extends Error {
  override readonly name = 'PlatformKeysError'
}

/** The keys that may have signed a token. */
export interface FoundKeys {
  readonly keys: readonly PlatformKey[]
  /** When they were read, in milliseconds since the Unix epoch; null: the rule has them. */
  readonly readAt: number | null
  /** Why they could not be read again; null: they could, or need not be. */
  readonly problem: string | null
}

/** A public key of an issuer that can verify platform tokens. */
interface PlatformKey {
  readonly kid: string | null
  readonly key: KeyObject
  /** The only algorithm that it is for, if the set says so. */
  readonly algorithm: string | null
}

const MAX_KEYS = 100
/** A key that its issuer withdraws ends within this time. */
const FRESH_MS = 10 * 60_000
/** For how long keys are used that cannot be read again. */
const STALE_MS = 3_600_000
/** How often an unknown `kid` may have the keys of an issuer read again. */
const RETRY_MS = 60_000
const MAX_SETS = 1000
const MAX_READS = 8

const CURVES: Readonly<Record<string, string>> = {
  ES256: 'prime256v1',
  ES384: 'secp384r1',
  ES512: 'secp521r1',
}

interface ReadSet {
  readonly keys: readonly PlatformKey[]
  /** By the clock that never goes back. */
  readonly readAt: number
  /** Milliseconds since the Unix epoch. */
  readonly at: number
}

interface Failure {
  readonly at: number
  readonly error: unknown
}

interface PlatformKeysDeps {
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
  readonly sender: Pick<Sender, 'get'>
  /** A clock that never goes back, in milliseconds. */
  readonly elapsed: () => number
}

/** The rule, as far as it says where its keys are. */
export type KeySource = Pick<EnrolmentRuleRow, 'issuer' | 'trust_domain'> & {
  readonly keys: EnrolmentKeys
}

/**
 * The keys of issuers of platform tokens, read through the guard for addresses that strangers have chosen (`Sender`), and kept for 10
 * minutes in each process. A flood of tokens with unknown keys costs one read a minute.
 */
export class PlatformKeys {
  readonly #deps: PlatformKeysDeps
  readonly #sets = new Map<string, ReadSet>()
  readonly #failures = new Map<string, Failure>()
  readonly #reads = new Map<string, Promise<ReadSet>>()
  readonly #pasted = new Map<string, readonly PlatformKey[]>()
  /** Reads of issuers, by outcome. */
  readonly reads = new OutcomeCounter(['read', 'failed'])

  constructor(deps: PlatformKeysDeps) {
    this.#deps = deps
  }

  /**
   * The keys that may have signed a token.
   * @param kid null: the token names none, and the set must have one usable key
   * @returns no keys if the issuer has no such key
   * @throws PlatformKeysError if the keys cannot be read; CodedError UNAVAILABLE if they may not be read again yet
   */
  async find(
    source: KeySource,
    kid: string | null,
    algorithm: PlatformAlgorithm,
  ): Promise<FoundKeys> {
    if (source.keys.jwks !== undefined) {
      const keys = candidates(this.#pastedKeys(source.keys.jwks, source), kid, algorithm)
      return { keys, readAt: null, problem: null }
    }
    const name = `${source.trust_domain ?? ''} ${urlOf(source)}`
    let set = await this.#current(name, source)
    let keys = candidates(set.keys, kid, algorithm)
    if (keys.length === 0) {
      this.#assertReadAgain(name, set)
      set = await this.#read(name, source)
      keys = candidates(set.keys, kid, algorithm)
    }
    const failure = this.#failures.get(name)
    const problem = failure?.error instanceof PlatformKeysError ? failure.error.message : null
    return { keys, readAt: set.at, problem }
  }

  /** The keys that a rule has itself. To import one takes as long as to verify a token. */
  #pastedKeys(jwks: object, source: KeySource): readonly PlatformKey[] {
    const name = `${source.trust_domain ?? ''} ${JSON.stringify(jwks)}`
    const keys = this.#pasted.get(name) ?? usableKeys(jwks, source)
    if (!this.#pasted.has(name)) keepNewest(this.#pasted, name, keys)
    return keys
  }

  /** @throws CodedError UNAVAILABLE if keys were read, or could not be, within a minute */
  #assertReadAgain(name: string, { readAt }: ReadSet): void {
    const last = Math.max(readAt, this.#failures.get(name)?.at ?? readAt)
    const age = this.#deps.elapsed() - last
    if (age >= RETRY_MS) return
    throw new CodedError(
      'UNAVAILABLE',
      'The issuer had no such key a moment ago. Its keys are read again in a minute.',
      { retryAfterSeconds: Math.ceil((RETRY_MS - age) / 1000) },
    )
  }

  /** Reads the keys now. @returns how many can verify tokens @throws PlatformKeysError */
  async check(source: KeySource): Promise<number> {
    if (source.keys.jwks !== undefined) return usableKeys(source.keys.jwks, source).length
    return (await this.#fetch(source)).keys.length
  }

  async #current(name: string, source: KeySource): Promise<ReadSet> {
    const known = this.#sets.get(name)
    const now = this.#deps.elapsed()
    if (known !== undefined && now - known.readAt < FRESH_MS) return known
    const failure = this.#failures.get(name)
    try {
      if (failure !== undefined && now - failure.at < RETRY_MS) throw failure.error
      return await this.#read(name, source)
    } catch (error) {
      if (known !== undefined && now - known.readAt < STALE_MS) return known
      throw error
    }
  }

  #read(name: string, source: KeySource): Promise<ReadSet> {
    const running = this.#reads.get(name)
    if (running !== undefined) return running
    if (this.#reads.size >= MAX_READS) {
      throw new CodedError('UNAVAILABLE', 'Too many keys of issuers are being read. Try again.', {
        retryAfterSeconds: 1,
      })
    }
    const read = this.#fetch(source).then(
      (set) => {
        this.reads.add('read')
        this.#failures.delete(name)
        keepNewest(this.#sets, name, set)
        return set
      },
      (error) => {
        this.reads.add('failed')
        keepNewest(this.#failures, name, { at: this.#deps.elapsed(), error })
        throw error
      },
    )
    const settled = read.finally(() => this.#reads.delete(name))
    this.#reads.set(name, settled)
    return settled
  }

  async #fetch(source: KeySource): Promise<ReadSet> {
    const url = source.keys.jwksUri ?? (await this.#discover(source.issuer as string))
    const set = await this.#json(url)
    const keys = usableKeys(set, source)
    if (keys.length === 0) throw new PlatformKeysError(`${url} has no key that can verify tokens.`)
    return { keys, readAt: this.#deps.elapsed(), at: this.#deps.now() }
  }

  /** OpenID Connect Discovery 1.0 section 4. @returns the address of the keys */
  async #discover(issuer: string): Promise<string> {
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    const { issuer: told, jwks_uri: uri } = (await this.#json(url)) as Record<string, unknown>
    if (told !== issuer) {
      const isSlash = String(told).replace(/\/$/, '') === issuer.replace(/\/$/, '')
      throw new PlatformKeysError(
        isSlash
          ? `${url} names the issuer ${String(told)}: the rule differs by a slash at the end.`
          : `${url} names another issuer.`,
      )
    }
    if (typeof uri === 'string') return uri
    throw new PlatformKeysError(`${url} has no jwks_uri.`)
  }

  async #json(address: string): Promise<object> {
    const url = URL.parse(address)
    if (url === null) throw new PlatformKeysError('The address of the keys is not a URL.')
    const page = await this.#deps.sender.get(url, 'application/json').catch((error) => {
      if (!(error instanceof Unreachable) && !(error instanceof ProofAbsent)) throw error
      throw new PlatformKeysError(error.message, { cause: error })
    })
    const body = page.status === 200 ? parseJson(page.text) : undefined
    if (typeof body === 'object' && body !== null) return body
    throw new PlatformKeysError(`${url.href} answers ${page.status} without a JSON object.`)
  }
}

function keepNewest<T>(map: Map<string, T>, name: string, value: T): void {
  map.delete(name)
  map.set(name, value)
  const [oldest] = map.keys()
  if (map.size > MAX_SETS && oldest !== undefined) map.delete(oldest)
}

function urlOf({ issuer, keys }: KeySource): string {
  return keys.jwksUri ?? `discovery ${issuer}`
}

function candidates(
  keys: readonly PlatformKey[],
  kid: string | null,
  algorithm: PlatformAlgorithm,
): PlatformKey[] {
  if (kid === null && keys.length > 1) return []
  return keys.filter(
    (each) =>
      (kid === null || each.kid === kid) &&
      (each.algorithm === null || each.algorithm === algorithm) &&
      fits(each.key, algorithm),
  )
}

function fits({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject, algorithm: string): boolean {
  if (!algorithm.startsWith('ES')) return asymmetricKeyType === 'rsa'
  return asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === CURVES[algorithm]
}

/** The keys of a JWK Set (RFC 7517 section 5) that can verify tokens; others are skipped. */
function usableKeys(set: object, { trust_domain }: Pick<KeySource, 'trust_domain'>): PlatformKey[] {
  const { keys } = set as { readonly keys?: unknown }
  if (!Array.isArray(keys)) throw new PlatformKeysError('The keys of the issuer are no JWK Set.')
  const uses = ['sig', ...(trust_domain === null ? [] : ['jwt-svid'])]
  return keys.slice(0, MAX_KEYS).flatMap((jwk: Readonly<Record<string, unknown>>) => {
    if (typeof jwk !== 'object' || jwk === null) return []
    const { kty, use, alg, kid, n, e, crv, x, y } = jwk
    if (use !== undefined && !uses.some((each) => each === use)) return []
    const material = kty === 'RSA' ? { kty, n, e } : kty === 'EC' ? { kty, crv, x, y } : null
    const key = material !== null && !isPrivate(jwk) ? importKey(material) : null
    if (key === null) return []
    return [
      {
        kid: typeof kid === 'string' ? kid : null,
        algorithm: typeof alg === 'string' ? alg : null,
        key,
      },
    ]
  })
}

/** Whether a JWK (RFC 7517) has members of a private or symmetric key. */
export function isPrivate(jwk: object): boolean {
  const secret = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth']
  return secret.some((name) => Object.hasOwn(jwk, name))
}

const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 8192
const MAX_EXPONENT = 2n ** 32n

function importKey(jwk: object): KeyObject | null {
  try {
    const key = createPublicKey({ key: jwk as never, format: 'jwk' })
    const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
    if (key.asymmetricKeyType === 'ec') {
      return Object.keys(CURVES).some((each) => fits(key, each)) ? key : null
    }
    const isSound =
      modulusLength >= MIN_RSA_BITS &&
      modulusLength <= MAX_RSA_BITS &&
      publicExponent < MAX_EXPONENT
    return isSound ? key : null
  } catch {
    return null
  }
}
