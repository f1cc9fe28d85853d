import { isLoopback, readBody } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import { readIssuerKeySet } from './key-set.ts'
import { readStatusList, type StatusList } from './status-list.ts'
import type { IssuerJwk } from './types.ts'

/** How long fetched keys are used before the issuer is asked again: a key that it has removed is dropped after this. */
const KEYS_MS = 60_000
/** How long an issuer is left alone after it failed, or did not have a key or a newer list. */
const PAUSE_MS = 5_000
const TIME_LIMIT_MS = 5_000
const MAX_KEY_SET_BYTES = 64 * 1024
const MAX_LIST_BYTES = 128 * 1024
/** Lists beyond this are forgotten, the one that was read first. */
const MAX_LISTS = 256

/** A thing that is fetched, and when it was. */
interface Fetched<T> {
  readonly value: T
  readonly at: number
}

/** How a status list is read. */
interface StatusListRequest {
  /** Milliseconds since 1970. */
  readonly now: number
  readonly keysFor: (kid: string) => Promise<readonly IssuerJwk[]>
  readonly maxAgeSeconds?: number | undefined
}

/** Fetches and caches the keys and the status lists of issuers: one request at a time for each address. */
export class IssuerClient {
  readonly #fetch: typeof globalThis.fetch
  readonly #elapsed: () => number
  readonly #keys = new Map<string, Fetched<readonly IssuerJwk[]>>()
  readonly #lists = new Map<string, Fetched<StatusList>>()
  readonly #askedAt = new Map<string, number>()
  readonly #pending = new Map<string, Promise<unknown>>()

  readonly #base: string | null

  /**
   * @param base where its one issuer is reached, if that is not its public origin; null: each at its own
   * @param elapsed a monotonic clock, in milliseconds
   */
  constructor(
    fetch: typeof globalThis.fetch,
    base: string | null = null,
    elapsed = () => performance.now(),
  ) {
    this.#fetch = fetch
    this.#base = base
    this.#elapsed = elapsed
  }

  /**
   * The keys of an issuer, at most a minute old.
   * @param kid if these do not contain it, the issuer is asked again
   * @throws CountersignError ISSUER_UNAVAILABLE
   */
  async keys(issuer: string, kid: string): Promise<readonly IssuerJwk[]> {
    const known = this.#keys.get(issuer)
    const isFresh = known !== undefined && this.#elapsed() - known.at < KEYS_MS
    const hasKey = known?.value.some((each) => each.kid === kid)
    if (isFresh && (hasKey || !this.#mayAsk(issuer))) return known.value
    return this.#once(`${issuer} keys`, async () => {
      this.#askedAt.set(issuer, this.#elapsed())
      const url = `${issuer}/.well-known/jwks.json`
      const text = await this.#read(issuer, url, 'application/json', MAX_KEY_SET_BYTES)
      const keys = readIssuerKeySet(parseJson(text))
      if (keys === null) throw unavailable(`${url} is no key set.`)
      this.#keys.set(issuer, { value: keys, at: this.#elapsed() })
      return keys
    })
  }

  /**
   * A status list of an issuer, as old as it says it may be, and no older than `maxAgeSeconds`.
   * @throws CountersignError ISSUER_UNAVAILABLE, INVALID_TOKEN
   */
  async statusList(
    issuer: string,
    uri: string,
    { now, keysFor, maxAgeSeconds = Number.POSITIVE_INFINITY }: StatusListRequest,
  ): Promise<StatusList> {
    const known = this.#lists.get(uri)
    const maxAge = Math.min(known?.value.ttl ?? 0, maxAgeSeconds) * 1000
    const isFresh = known !== undefined && this.#elapsed() - known.at < maxAge
    if (isFresh && known.value.expiresAt > now) return known.value
    return this.#once(uri, async () => {
      const text = await this.#read(issuer, uri, 'application/statuslist+jwt', MAX_LIST_BYTES)
      const list = await readStatusList(text, { issuer, uri, keysFor, now })
      // An older list is a replay: a restriction is in the newer one.
      if (known !== undefined && known.value.issuedAt > list.issuedAt) {
        throw unavailable(`${uri} is an older list than before.`)
      }
      this.#lists.delete(uri)
      this.#lists.set(uri, { value: list, at: this.#elapsed() })
      const [oldest] = this.#lists.keys()
      if (this.#lists.size > MAX_LISTS && oldest !== undefined) this.#lists.delete(oldest)
      return list
    })
  }

  #mayAsk(issuer: string): boolean {
    return this.#elapsed() - (this.#askedAt.get(issuer) ?? Number.NEGATIVE_INFINITY) >= PAUSE_MS
  }

  #once<T>(key: string, work: () => Promise<T>): Promise<T> {
    const pending = this.#pending.get(key) ?? work().finally(() => this.#pending.delete(key))
    this.#pending.set(key, pending)
    return pending as Promise<T>
  }

  async #read(issuer: string, url: string, accept: string, maxBytes: number): Promise<string> {
    try {
      const signal = AbortSignal.timeout(TIME_LIMIT_MS)
      const address = this.#base === null ? url : this.#base + url.slice(issuer.length)
      const response = await this.#fetch(address, {
        headers: { accept },
        redirect: 'manual',
        signal,
      })
      const body = response.status === 200 ? await readBody(response, maxBytes) : null
      if (body === null || body === 'too-large') {
        await response.body?.cancel().catch(() => undefined)
        throw unavailable(`${url} answers ${response.status}, without what was asked for.`)
      }
      return new TextDecoder('utf-8', { fatal: true }).decode(body)
    } catch (cause) {
      if (cause instanceof CountersignError) throw cause
      throw unavailable(`${url} cannot be read.`, cause)
    }
  }
}

/**
 * The canonical origin of an issuer.
 * @throws CountersignError INVALID_ARGUMENT unless it is an https origin, or http on loopback
 */
export function issuerOrigin(issuer: string | URL): string {
  const text = String(issuer)
  const url = URL.canParse(text) ? new URL(text) : null
  const isSecure =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  if (url !== null && isSecure && url.href === `${url.origin}/`) return url.origin
  throw new CountersignError(
    'INVALID_ARGUMENT',
    'An issuer is the https origin of a service, such as https://id.example.',
  )
}

function unavailable(message: string, cause?: unknown): CountersignError {
  return new CountersignError('ISSUER_UNAVAILABLE', message, { cause })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
