import {
  formatTilePath,
  LOG_ENTRY_MAX_BYTES,
  NOTE_MAX_LENGTH,
  parseEntryBundle,
  TILE_WIDTH,
  type Tile,
  TREE_HASH_BYTES,
} from '@countersign/protocol'
import { Failure } from '@countersign/sdk/tool-support'

const TIMEOUT_MS = 30_000
/** 256 entries, each with its length. */
const BUNDLE_MAX_BYTES = TILE_WIDTH * (2 + LOG_ENTRY_MAX_BYTES)
const LOG_INFO_MAX_BYTES = 1024 * 1024

/** Where a log is read (C2SP tlog-tiles): a service, a mirror, a CDN. Nothing that it returns is verified here. */
export class LogSource {
  /** Without a slash at its end, such as `https://id.example/log`. */
  readonly prefix: string
  readonly #fetch: typeof globalThis.fetch

  constructor(prefix: string, fetch: typeof globalThis.fetch) {
    this.prefix = prefix
    this.#fetch = fetch
  }

  /** The newest checkpoint: a signed note. @throws Failure UNREACHABLE, NO_ANSWER, UNEXPECTED_ANSWER */
  async checkpoint(): Promise<string> {
    const bytes = await this.#read('/checkpoint', NOTE_MAX_LENGTH * 4)
    return this.#decode(bytes)
  }

  /** The verifier key that a service names at `/log`. @throws Failure as `checkpoint` */
  async verifierKey(): Promise<string> {
    const text = this.#decode(await this.#read('', LOG_INFO_MAX_BYTES))
    try {
      const { verifierKey } = JSON.parse(text)
      if (typeof verifierKey === 'string') return verifierKey
    } catch {
      // The same as JSON without a key.
    }
    throw unexpected(this.prefix, 'names no verifier key. Pass it with --log-key.')
  }

  /** The concatenated hashes of a tile. @throws Failure as `checkpoint` */
  async hashes(tile: Tile): Promise<Uint8Array> {
    const bytes = await this.#tile(tile, TILE_WIDTH * TREE_HASH_BYTES)
    const length = tile.width * TREE_HASH_BYTES
    if (bytes.length >= length) return bytes.subarray(0, length)
    throw unexpected(this.prefix, `has a tile that is too short: ${formatTilePath(tile)}.`)
  }

  /** The entries of a bundle, as raw bytes. @throws Failure as `checkpoint` */
  async entries(index: number, width: number): Promise<readonly Uint8Array[]> {
    const tile = { level: 'entries', index, width } as const
    const entries = parseEntryBundle(await this.#tile(tile, BUNDLE_MAX_BYTES))
    if (entries !== null && entries.length >= width) return entries.slice(0, width)
    throw unexpected(this.prefix, `has a malformed bundle of entries: ${formatTilePath(tile)}.`)
  }

  /** A mirror may have deleted a partial tile once it had the full one (C2SP tlog-tiles). */
  async #tile(tile: Tile, maxBytes: number): Promise<Uint8Array> {
    try {
      return await this.#read(`/${formatTilePath(tile)}`, maxBytes)
    } catch (error) {
      const isMissing = error instanceof Failure && error.code === 'NOT_FOUND'
      if (!isMissing || tile.width === TILE_WIDTH) throw error
      return this.#read(`/${formatTilePath({ ...tile, width: TILE_WIDTH })}`, maxBytes)
    }
  }

  async #read(path: string, maxBytes: number): Promise<Uint8Array> {
    const url = this.prefix + path
    const response = await this.#get(url)
    if (response.status === 404) throw new Failure('NOT_FOUND', `There is no ${url}.`)
    if (response.status === 429 || response.status >= 500) {
      throw new Failure('UNAVAILABLE', `${url} answers with status ${response.status}.`)
    }
    if (response.status !== 200) {
      throw unexpected(this.prefix, `answers with status ${response.status} for ${url}.`)
    }
    return readBody(response, maxBytes, url)
  }

  async #get(url: string): Promise<Response> {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      return await this.#fetch(url, { redirect: 'error', signal })
    } catch (cause) {
      throw noAnswer(url, cause)
    }
  }

  #decode(bytes: Uint8Array): string {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    } catch {
      throw unexpected(this.prefix, 'answers with text that is not UTF-8.')
    }
  }
}

async function readBody(response: Response, maxBytes: number, url: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of response.body ?? []) {
      length += chunk.length
      if (length > maxBytes) break
      chunks.push(chunk)
    }
  } catch (cause) {
    throw noAnswer(url, cause)
  }
  if (length <= maxBytes) return new Uint8Array(Buffer.concat(chunks))
  throw unexpected(url, `is larger than ${maxBytes} bytes.`)
}

function noAnswer(url: string, cause: unknown): Failure {
  const why = (cause as Error).cause instanceof Error ? (cause as Error).cause : cause
  return new Failure('NO_ANSWER', `${url} cannot be read: ${(why as Error).message}`, { cause })
}

function unexpected(prefix: string, what: string): Failure {
  return new Failure('UNEXPECTED_ANSWER', `${prefix} ${what}`)
}
