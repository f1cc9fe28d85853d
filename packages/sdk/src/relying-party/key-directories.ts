import {
  type DirectoryKey,
  directoryUrl,
  findDirectory,
  type KeyDirectory,
  keySetOfDirectory,
  MAX_DIRECTORY_LIFETIME,
  parseJsonBytes,
  readBody,
  readClientDocument,
  readKeySet,
} from '@countersign/protocol'
import type {
  KeyLookup,
  SignatureAgent,
  SignatureProfile,
  SignatureRules,
} from '@countersign/protocol/signed-request-types'
import { CountersignError } from '../errors.ts'
import { type FetchedPage, fetchPage, fetchPublicPage } from '../http/fetch-public-page.ts'

/** A directory of keys that you trust, besides the service. */
export interface TrustedDirectory {
  /**
   * Its origin, such as `https://chatgpt.com`, if its keys are at `/.well-known/http-message-signatures-directory`; else the address of
   * the key set, or of a Client ID Metadata Document with its keys (`type=cimd`). https, at a host name of the public internet.
   */
  readonly url: string | URL
  /**
   * Which signatures by its keys count. Default: `strict`. With `wba`, also those that cover only the host and have no nonce, which is
   * what most bots sign: for GET, HEAD, OPTIONS and TRACE alone.
   */
  readonly profile?: SignatureProfile | undefined
  /**
   * The longest lifetime of a signature, in seconds. Default and maximum: 86,400, which the drafts allow. A replay is noticed for 300
   * seconds; later, `replay` is `unchecked`, and requests that change state are refused.
   */
  readonly maxLifetimeSeconds?: number | undefined
}

/** Options of `keyDirectories`. */
export interface KeyDirectoriesOptions {
  /**
   * Fetches the key sets, for sites whose requests leave through a proxy. Default: in Node, a fetch that connects to public addresses
   * alone; elsewhere the global one, for which only the URL can be checked.
   */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** A monotonic clock, in milliseconds. Default: `performance.now`. */
  readonly now?: (() => number) | undefined
}

/** Key directories with their cached keys. */
export interface KeyDirectories {
  /** Finds keys in them; addresses that are not listed are `untrusted-agent`. */
  readonly findKey: KeyLookup
  /** The directory that a signature names, as you listed it. */
  find(agent: SignatureAgent): Listed | null
}

interface Listed extends SignatureRules {
  /** Canonical: without the slash after an origin. */
  readonly url: string
}

/** How long keys are used before the directory is asked again. */
const FRESH_MS = 60_000
/** How long a directory is left alone after it failed, or did not have a key. */
const PAUSE_MS = 30_000
const TIME_LIMIT_MS = 3_000
const MAX_BYTES = 64 * 1024

/**
 * Creates the cache of the directories that you trust. Create it once. It fetches a directory when a request names it, one request at a
 * time for each, within 3 seconds, at most 64 KiB and 64 keys, without redirects. A failure keeps the keys that are known; an empty key
 * set removes them, and `nbf` and `exp` of a key are respected.
 * @throws CountersignError INVALID_ARGUMENT
 */
export function keyDirectories(
  list: readonly TrustedDirectory[],
  { fetch, now = () => performance.now() }: KeyDirectoriesOptions = {},
): KeyDirectories {
  const directories = list.map(readDirectory)
  const fetchKeys =
    fetch === undefined
      ? fetchPublicPage
      : (url: URL, signal: AbortSignal) => fetchPage(fetch, url, signal)
  const cached = (isDocument: boolean) =>
    new Map(
      directories.map((each) => {
        const url = keySetOfDirectory(each)
        return [url, new CachedKeySet(new URL(url), isDocument, fetchKeys, now)]
      }),
    )
  const keySets = cached(false)
  const documents = cached(true)
  const find = (agent: SignatureAgent) => findDirectory(directories, agent)
  return {
    find,
    async findKey({ signatureAgent, keyid }) {
      const directory = find(signatureAgent)
      const known = signatureAgent.dialect === 'cimd' ? documents : keySets
      const keySet = directory && known.get(keySetOfDirectory(directory))
      if (!keySet) return 'untrusted-agent'
      const key = await keySet.key(keyid)
      return typeof key === 'string' ? key : { publicKey: key, did: null, status: null }
    },
  }
}

function readDirectory({
  url,
  profile = 'strict',
  maxLifetimeSeconds = MAX_DIRECTORY_LIFETIME,
}: TrustedDirectory): KeyDirectory {
  const canonical = directoryUrl(String(url))
  const isLifetime = maxLifetimeSeconds >= 1 && maxLifetimeSeconds <= MAX_DIRECTORY_LIFETIME
  if (canonical === null || (profile !== 'strict' && profile !== 'wba') || !isLifetime) {
    throw new CountersignError(
      'INVALID_ARGUMENT',
      'A directory has an https address at a host name, such as https://bots.example, the profile strict or wba, and a lifetime of 1 to 86400 seconds.',
    )
  }
  return { url: canonical, profile, maxLifetimeSeconds }
}

type FetchKeys = (url: URL, signal: AbortSignal) => Promise<FetchedPage>

/** The keys of one directory. */
class CachedKeySet {
  readonly #url: URL
  readonly #isDocument: boolean
  readonly #fetch: FetchKeys
  readonly #now: () => number
  /** Null until it was read once. */
  #keys: ReadonlyMap<string, DirectoryKey> | null = null
  #readAt = Number.NEGATIVE_INFINITY
  #askedAt = Number.NEGATIVE_INFINITY
  #hasFailed = false
  #reading: Promise<void> | null = null

  /** @param isDocument the address is that of a Client ID Metadata Document */
  constructor(url: URL, isDocument: boolean, fetch: FetchKeys, now: () => number) {
    this.#url = url
    this.#isDocument = isDocument
    this.#fetch = fetch
    this.#now = now
  }

  async key(keyid: string): Promise<Uint8Array | 'unknown-key' | 'directory-unavailable'> {
    const isFresh = this.#now() - this.#readAt < FRESH_MS
    if (!isFresh || !this.#keys?.has(keyid)) await this.#refresh()
    const key = this.#keys?.get(keyid)
    const now = Date.now()
    if (key && key.notBefore <= now && now < key.expires) return key.publicKey
    return this.#hasFailed ? 'directory-unavailable' : 'unknown-key'
  }

  #refresh(): Promise<void> {
    if (this.#reading !== null) return this.#reading
    if (this.#now() - this.#askedAt < PAUSE_MS) return Promise.resolve()
    this.#askedAt = this.#now()
    this.#reading = this.#read().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    const keys = await untilLate((signal) => this.#keysThere(signal)).catch(() => null)
    this.#hasFailed = keys === null
    if (keys === null) return
    this.#keys = keys
    this.#readAt = this.#now()
  }

  /** @returns null if the answer is no key set */
  async #keysThere(signal: AbortSignal): Promise<ReadonlyMap<string, DirectoryKey> | null> {
    const json = await this.#jsonAt(this.#url, signal)
    if (!this.#isDocument) return readKeySet(json)
    const document = readClientDocument(json, this.#url.href)
    if (document === null) return null
    if ('keySet' in document) return readKeySet(document.keySet)
    return readKeySet(await this.#jsonAt(new URL(document.keySetUrl), signal))
  }

  /** @returns null for any status but 200, and for more than 64 KiB */
  async #jsonAt(url: URL, signal: AbortSignal): Promise<unknown> {
    const page = await this.#fetch(url, signal)
    const bytes = page.status === 200 ? await readBody(page, MAX_BYTES) : null
    if (bytes === null || bytes === 'too-large') return null
    return parseJsonBytes(bytes)
  }
}

/** The race is for a `fetch` that ignores signals. */
async function untilLate<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('late')), TIME_LIMIT_MS)
  })
  try {
    return await Promise.race([work(controller.signal), late])
  } finally {
    clearTimeout(timer)
    controller.abort()
  }
}
