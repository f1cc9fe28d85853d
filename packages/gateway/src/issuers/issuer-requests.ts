import { FEED_TYPE, type IssuerJwk, readBody } from '@countersign/protocol'
import { readIssuerKeySet } from '@countersign/sdk'

const TIME_LIMIT_MS = 10_000
const MAX_KEY_SET_BYTES = 64 * 1024
const MAX_LIST_BYTES = 128 * 1024
/** About 1,500 lists of the largest size. */
const MAX_SNAPSHOT_BYTES = 64 * 1024 * 1024

/** The service has no longer what the cursor refers to: the lists have to be read again. */
export class CursorExpired extends Error {
  override readonly name = 'CursorExpired'
}

/** More than the service answers, and than follows after the changes of a day in which all agents were revoked. */
const MAX_LATEST_BYTES = 16 * 1024
const MAX_CHANGES_BYTES = 32 * 1024 * 1024

/** What a gateway asks of an issuer. No request names an agent or a site. */
export class IssuerRequests {
  readonly #base: string

  /** @param base the address of the service, without a slash at the end */
  constructor(base: string) {
    this.#base = base
  }

  /** @throws Error if the answer is no key set */
  async keys(signal: AbortSignal): Promise<readonly IssuerJwk[]> {
    const path = '/.well-known/jwks.json'
    const text = await this.#text(path, 'application/json', MAX_KEY_SET_BYTES, signal)
    const keys = readIssuerKeySet(JSON.parse(text))
    if (keys === null) throw new Error('the issuer has no key set')
    return keys
  }

  /** @returns a status list token */
  statusList(list: number, signal: AbortSignal): Promise<string> {
    return this.#text(`/status/${list}`, 'application/statuslist+jwt', MAX_LIST_BYTES, signal)
  }

  async snapshot(signal: AbortSignal): Promise<unknown> {
    const path = '/api/v1/snapshot'
    return JSON.parse(await this.#text(path, 'application/json', MAX_SNAPSHOT_BYTES, signal))
  }

  /**
   * Opens the feed, which stays open.
   * @returns its lines
   * @param head the cursor
   * @throws CursorExpired
   */
  async feed(head: string, signal: AbortSignal): Promise<AsyncGenerator<unknown>> {
    const response = await this.#get(
      `/api/v1/feed?after=${encodeURIComponent(head)}`,
      'text/event-stream',
      signal,
    )
    if (response.status === 200 && response.body !== null) return feedLines(response.body)
    await response.body?.cancel()
    if (response.status === 410) throw new CursorExpired()
    throw new Error(`the feed answers ${response.status}`)
  }

  /** The newest lines of the feed, without a stream. @returns its lines */
  async latest(signal: AbortSignal): Promise<unknown[]> {
    return linesOf(await this.#text('/api/v1/feed/latest', FEED_TYPE, MAX_LATEST_BYTES, signal))
  }

  /** The lines of the feed after a head, without a stream. @throws Error if the service refuses */
  async changesAfter(head: string, signal: AbortSignal): Promise<unknown[]> {
    const path = `/api/v1/feed?after=${encodeURIComponent(head)}`
    return linesOf(await this.#text(path, FEED_TYPE, MAX_CHANGES_BYTES, signal))
  }

  async #text(path: string, accept: string, maxBytes: number, signal: AbortSignal) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT_MS)])
    const response = await this.#get(path, accept, limit)
    const body = response.status === 200 ? await readBody(response, maxBytes) : null
    if (body === null || body === 'too-large') {
      await response.body?.cancel().catch(() => undefined)
      if (response.status === 410) throw new CursorExpired()
      throw new Error(`${path} answers ${response.status}`)
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  }

  #get(path: string, accept: string, signal: AbortSignal): Promise<Response> {
    const headers = { accept }
    return fetch(`${this.#base}${path}`, { headers, redirect: 'manual', signal })
  }
}

function linesOf(text: string): unknown[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line) => JSON.parse(line))
}

/** A line of the feed is a head, a JWS of at most a few hundred bytes, or a change. */
const MAX_LINE = 16_384

/**
 * The values of a stream of server-sent events or of newline-delimited JSON. Comments and other fields of events are left out.
 * @throws Error for a line that is too long or no JSON
 */
async function* feedLines(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const reader = body.getReader()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      text += decoder.decode(value, { stream: true })
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      if (text.length > MAX_LINE) throw new Error('a line of the feed is too long')
      for (const line of lines) {
        const data = dataOf(line.trim())
        if (data !== null) yield JSON.parse(data)
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function dataOf(line: string): string | null {
  if (line.startsWith('{')) return line
  return line.startsWith('data:') ? line.slice('data:'.length) : null
}
