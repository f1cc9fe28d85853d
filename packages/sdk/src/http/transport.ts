import type { CountersignError } from '../errors.ts'
import { readBounded } from './read-bounded.ts'
import { protocolError, refusalOf } from './refusal.ts'
import { retryAfterOf } from './retry-after.ts'

/** One question to a service. */
export interface Question {
  /** Below the service's address, percent-encoded. */
  readonly path: string
  readonly accept?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Makes it a POST of JSON. */
  readonly body?: unknown
  /** Statuses besides 200 whose body is an answer and no refusal. */
  readonly alsoOk?: readonly number[]
}

/** What came back and is no refusal. The body is JSON that nobody has looked at, `undefined` for a 304. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/** How a service is reached. */
export interface Transport {
  readonly service: URL
  readonly fetch: typeof globalThis.fetch
  readonly maxBytes: number
}

const JSON_TYPE = 'application/json'
export const DID_JSON = 'application/did+json'

/**
 * Asks once. Redirects are not followed: what is sent is meant for the service that was named.
 * @throws CountersignError with the service's own code; PROTOCOL; UNAVAILABLE and RATE_LIMITED also in the name of
 *   whatever stands in front of the service
 * @throws whatever fetch and the signal throw
 */
export async function askOnce(
  { service, fetch, maxBytes }: Transport,
  { path, accept = JSON_TYPE, headers = {}, body, alsoOk = [] }: Question,
  signal: AbortSignal,
): Promise<Answer> {
  const post = body !== undefined && {
    method: 'POST',
    body: JSON.stringify(body),
  }
  const response = await fetch(new URL(path, service), {
    headers: { accept, ...(post && { 'content-type': JSON_TYPE }), ...headers },
    ...post,
    redirect: 'manual',
    signal,
    ...passingCaches(),
  })
  const { status } = response
  if (status === 304) return { status, headers: response.headers, body: undefined }
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel()
    throw redirected(service, response)
  }
  const bytes = await readBounded(response, maxBytes, service)
  const parsed = isJson(response.headers) ? parse(bytes) : undefined
  if ((status === 200 || alsoOk.includes(status)) && parsed !== undefined) {
    return { status, headers: response.headers, body: parsed }
  }
  const retryAfterMs = retryAfterOf(response.headers, Date.now())
  throw refusalOf(service, status, parsed, retryAfterMs)
}

let passing: { readonly cache?: 'no-store' } | undefined

/** A browser's own cache would answer in our place. Some Workers do not take the option, and have no such cache. */
function passingCaches() {
  if (passing !== undefined) return passing
  passing = { cache: 'no-store' }
  try {
    new Request('https://id.example', passing as RequestInit)
  } catch {
    passing = {}
  }
  return passing
}

function redirected(service: URL, { status, headers }: Response): CountersignError {
  const location = headers.get('location') ?? ''
  const to = URL.canParse(location, service.href) ? new URL(location, service).origin : ''
  const where = to === '' || to === service.origin ? '' : `, to ${to}`
  return protocolError(service, `answers with a redirect${where}, which is not followed`, status)
}

function isJson(headers: Headers): boolean {
  const mediaType = (headers.get('content-type') ?? '').split(';', 1).join('').trim().toLowerCase()
  return mediaType === JSON_TYPE || mediaType === DID_JSON
}

/** @returns undefined for what is not JSON */
function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}
