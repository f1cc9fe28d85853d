import {
  type DirectoryKey,
  keySetUrlOf,
  readClientDocument,
  readKeySet,
  type SignatureAgent,
} from '@countersign/protocol'
import { addressKey } from '../../http/limits/address-key.ts'
import { LocalQuotaStore } from '../../http/limits/quota-store.ts'
import type { RateLimiter } from '../../http/limits/rate-limiter.ts'
import { DIRECTORY_READS } from '../../http/limits/rate-limits.ts'
import { parseJson } from '../../http/outbound/bounded-fetch.ts'
import type { Sender } from '../../http/outbound/open-sender.ts'
import { ProofAbsent, Unreachable } from '../../http/outbound/perspective.ts'

/** What was read of a key directory. */
export interface DirectoryReading {
  /** The address of the key set, or of the document that names it. */
  readonly url: string
  /** By JWK thumbprint; null if they could not be read. */
  readonly keys: ReadonlyMap<string, DirectoryKey> | null
  /** Why not, as a sentence; empty if they were. */
  readonly fault: string
  /** By the clock of `elapsed`, in milliseconds. */
  readonly readAt: number
}

interface KeyDirectoriesDeps {
  readonly sender: Sender
  /** Null: visitors have no limit. */
  readonly rateLimiter: RateLimiter | null
  /** A clock that never goes back, in milliseconds. */
  readonly elapsed: () => number
}

/** How long keys are shown before the directory is read again. */
const FRESH_MS = 60_000
/** How long a directory is left alone after it failed. */
const PAUSE_MS = 30_000
/** Bounds memory: each has at most 64 keys. */
const MAX_READINGS = 500
/** Reads in progress, for all visitors together. */
const MAX_READS = 16
/** Reads of one host, for all visitors together: nobody may use this page to flood a site. */
const HOST_RATE = { quota: 10, windowMs: 60_000 }

const ACCEPT =
  'application/http-message-signatures-directory+json, application/jwk-set+json, application/json'

/**
 * Key directories of strangers, for the page that explains signatures. Each is read once for all visitors, through the guard for
 * addresses that strangers have chosen (`Sender`), within limits: by visitor, by host, and at once.
 */
export class KeyDirectories {
  readonly #deps: KeyDirectoriesDeps
  readonly #readings = new Map<string, DirectoryReading>()
  readonly #reads = new Map<string, Promise<DirectoryReading>>()
  readonly #hosts = new LocalQuotaStore()

  constructor(deps: KeyDirectoriesDeps) {
    this.#deps = deps
  }

  /** How many milliseconds ago it was read. */
  ageOf({ readAt }: DirectoryReading): number {
    return this.#deps.elapsed() - readAt
  }

  /**
   * Reads the directory that a signature names.
   * @param address of the visitor
   */
  async read(agent: SignatureAgent, address: string): Promise<DirectoryReading> {
    const url = keySetUrlOf(agent)
    const isDocument = agent.dialect === 'cimd'
    const name = `${isDocument ? 'document' : 'keys'} ${url}`
    const known = this.#readings.get(name)
    if (known !== undefined) {
      if (this.ageOf(known) < (known.keys === null ? PAUSE_MS : FRESH_MS)) return known
      this.#readings.delete(name)
    }
    if (!this.#reads.has(name)) {
      const refusal = await this.#refusalFor(new URL(url), address)
      if (refusal !== null) return { url, keys: null, fault: refusal, readAt: this.#deps.elapsed() }
    }
    const begun = this.#reads.get(name)
    if (begun !== undefined) return begun
    const read = this.#read(url, isDocument)
      .then((reading) => this.#remember(name, reading))
      .finally(() => this.#reads.delete(name))
    this.#reads.set(name, read)
    return read
  }

  /** Why a directory is not read now, as a sentence. */
  async #refusalFor({ host }: URL, address: string): Promise<string | null> {
    if (this.#reads.size >= MAX_READS) {
      return 'Too many directories are being read. Try again in a second.'
    }
    const { rateLimiter, elapsed } = this.#deps
    const rate = rateLimiter?.rateOf(DIRECTORY_READS) ?? null
    if (rateLimiter !== null && rate !== null) {
      const state = await rateLimiter.take(DIRECTORY_READS, rate, addressKey(address))
      if (!state.isAllowed) {
        rateLimiter.countRejection(DIRECTORY_READS)
        const seconds = Math.max(1, Math.ceil(state.retryMs / 1000))
        return `Too many directories were read from your address. Try again in ${seconds} s.`
      }
    }
    const isAllowed = this.#hosts.take(host, HOST_RATE, elapsed()).taken
    return isAllowed ? null : `${host} was read too often. Try again in a minute.`
  }

  #remember(name: string, reading: DirectoryReading): DirectoryReading {
    const [oldest] = this.#readings.keys()
    if (oldest !== undefined && this.#readings.size >= MAX_READINGS) this.#readings.delete(oldest)
    this.#readings.set(name, reading)
    return reading
  }

  async #read(url: string, isDocument: boolean): Promise<DirectoryReading> {
    const readAt = this.#deps.elapsed()
    try {
      const keys = await this.#keysAt(url, isDocument)
      return { url, keys, fault: '', readAt }
    } catch (error) {
      if (!(error instanceof ProofAbsent || error instanceof Unreachable)) throw error
      return { url, keys: null, fault: error.message, readAt }
    }
  }

  /** @throws ProofAbsent, Unreachable */
  async #keysAt(url: string, isDocument: boolean): Promise<ReadonlyMap<string, DirectoryKey>> {
    let json = await this.#jsonAt(url)
    if (isDocument) {
      const document = readClientDocument(json, url)
      if (document === null) {
        throw new Unreachable(`${url} is no Client ID Metadata Document with keys.`)
      }
      json = 'keySet' in document ? document.keySet : await this.#jsonAt(document.keySetUrl)
    }
    const keys = readKeySet(json)
    if (keys === null) throw new Unreachable(`${url} is no JSON Web Key Set of at most 64 keys.`)
    return keys
  }

  async #jsonAt(url: string): Promise<unknown> {
    const { status, text } = await this.#deps.sender.get(new URL(url), ACCEPT)
    if (status === 200) return parseJson(text)
    throw new Unreachable(`${url} answers with status ${status}.`)
  }
}
