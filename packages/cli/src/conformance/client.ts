import { setTimeout as sleep } from 'node:timers/promises'
import { readBody } from '@countersign/protocol'
import type { Answer } from './answer.ts'
import { Mismatch } from './expect.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 1024 * 1024
/** How often a request is sent again after 429 or 503 with `Retry-After`, and how long at most the wait before it is. */
const RETRIES = 4
const MAX_WAIT_SECONDS = 30

/** Options of a request. */
export interface RequestOptions {
  readonly accept?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends the requests of the checks without credentials, and keeps the responses for the checks of all errors. */
export class Client {
  readonly origin: string
  /** Every response that is an error. */
  readonly errors: Answer[] = []
  readonly #fetch: typeof globalThis.fetch

  constructor(service: URL, fetch: typeof globalThis.fetch) {
    this.origin = service.origin
    this.#fetch = fetch
  }

  /** @param path already percent-encoded */
  get(path: string, { accept = 'application/json', headers = {} }: RequestOptions = {}) {
    return this.#send('GET', path, { headers: { accept, ...headers } })
  }

  /** @param body sent as JSON, or as it is if it is text */
  post(path: string, body: unknown): Promise<Answer> {
    return this.#send('POST', path, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  }

  /** A page or a picture: its errors need no envelope. */
  page(path: string, accept: string): Promise<Answer> {
    return this.#attempt('GET', path, { headers: { accept } })
  }

  async #send(method: string, path: string, init: RequestInit): Promise<Answer> {
    let answer = await this.#attempt(method, path, init)
    for (let i = 0; i < RETRIES; i++) {
      const seconds = retryAfter(answer)
      if (seconds === null) break
      this.#keep(answer)
      await sleep(seconds * 1000)
      answer = await this.#attempt(method, path, init)
    }
    this.#keep(answer)
    return answer
  }

  #keep(answer: Answer): void {
    // The document of a revoked agent comes with 410 and is no error.
    const isError = answer.status >= 400 && answer.mediaType !== 'application/did+json'
    if (isError) this.errors.push(answer)
  }

  async #attempt(method: string, path: string, init: RequestInit): Promise<Answer> {
    const request = `${method} ${path}`
    const response = await this.#fetch(`${this.origin}${path}`, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error: Error) => {
      throw new Mismatch(request, 'a response', `none: ${reasonOf(error)}`)
    })
    const bytes = await readBody(response, MAX_BYTES)
    if (bytes === 'too-large') throw new Mismatch(request, 'at most 1 MiB', 'a larger response')
    const text = new TextDecoder().decode(bytes ?? new Uint8Array())
    const type = response.headers.get('content-type') ?? ''
    return {
      request,
      status: response.status,
      headers: response.headers,
      mediaType: (type.split(';')[0] as string).trim().toLowerCase(),
      text,
      body: parseJson(text),
    }
  }
}

/** The cause of a failed fetch says more than `fetch failed`. */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error && cause.message !== '' ? cause.message : message
}

/** @returns how many seconds to wait, or null if the request is not to be sent again */
function retryAfter({ status, headers }: Answer): number | null {
  if (status !== 429 && status !== 503) return null
  const value = headers.get('retry-after') ?? ''
  if (!/^\d+$/.test(value)) return null
  return Number(value) <= MAX_WAIT_SECONDS ? Number(value) : null
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
