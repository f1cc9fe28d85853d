import { readBody } from '@countersign/protocol'
import { errorIn, protocolError } from './service-errors.ts'

/** Signs a request to a path of the service. @returns all its header fields */
type SignHeaders = (path: string, init: RequestInit) => Promise<Record<string, string>>

/** A request to a service. */
export interface ServiceRequest {
  /** Relative to the service's address, percent-encoded. */
  readonly path: string
  readonly accept?: string
  /** The largest response that is read, in bytes. Default: that of the transport. */
  readonly maxBytes?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** The method for a body. Default: POST. */
  readonly method?: 'POST' | 'PUT'
  /** Called again for each attempt: a signature is valid once. @returns all the header fields to send */
  readonly sign?: SignHeaders
  /** Statuses besides 200 that are a success. */
  readonly alsoOk?: readonly number[]
}

/** A response that is a success or 304. The body is parsed JSON or the text of a token, not yet checked; `undefined` for a 304. */
export interface ServiceResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/** How a service is reached. */
export interface Transport {
  readonly service: URL
  readonly fetch: typeof globalThis.fetch
  /** The largest response that is read, in bytes. */
  readonly maxBytes: number
}

const JSON_TYPE = 'application/json'
export const DID_JSON = 'application/did+json'
export const JWT = 'application/jwt'
export const TEXT = 'text/plain'

/**
 * Sends one request. It does not follow redirects: a claim or a signature is meant for the named service only.
 * @throws CountersignError with the service's own code; PROTOCOL; UNAVAILABLE and RATE_LIMITED also from a proxy
 * @throws whatever fetch and the signal throw
 */
export async function sendRequest(
  { service, fetch, ...transport }: Transport,
  { path, accept = JSON_TYPE, headers = {}, body, method = 'POST', ...request }: ServiceRequest,
  signal: AbortSignal,
): Promise<ServiceResponse> {
  const post = body !== undefined && { method, body: JSON.stringify(body) }
  const unsigned = { accept, ...(post && { 'content-type': JSON_TYPE }), ...headers }
  const response = await fetch(new URL(path, service), {
    headers: (await request.sign?.(path, { ...post, headers: unsigned })) ?? unsigned,
    ...post,
    redirect: 'manual',
    signal,
    ...withoutBrowserCache(),
  })
  const { status } = response
  if (status === 304) return { status, headers: response.headers, body: undefined }
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel()
    throw redirectError(service, response)
  }
  const { maxBytes = transport.maxBytes } = request
  const bytes = await readResponse(response, maxBytes, service)
  const mediaType = mediaTypeOf(response.headers)
  const isJson = mediaType === JSON_TYPE || mediaType === DID_JSON
  // Errors of proxies are plain text too, so it counts only if it was asked for.
  const isText = mediaType === JWT || (mediaType === TEXT && accept === TEXT && status === 200)
  const parsed = isJson ? parseJson(bytes) : isText ? textOf(bytes) : undefined
  if ((status === 200 || request.alsoOk?.includes(status)) && parsed !== undefined) {
    return { status, headers: response.headers, body: parsed }
  }
  const retryAfterMs = retryAfterOf(response.headers, Date.now())
  const location = response.headers.get('location')
  throw errorIn(service, { status, mediaType, body: parsed, retryAfterMs, location })
}

let cacheOption: { readonly cache?: 'no-store' } | undefined

/** A browser's cache would bypass ours. Some Workers reject the option; they have no such cache. */
function withoutBrowserCache() {
  if (cacheOption !== undefined) return cacheOption
  cacheOption = { cache: 'no-store' }
  try {
    new Request('https://id.example', cacheOption as RequestInit)
  } catch {
    cacheOption = {}
  }
  return cacheOption
}

function redirectError(service: URL, { status, headers }: Response) {
  const location = headers.get('location') ?? ''
  const target = URL.canParse(location, service.href) ? new URL(location, service).origin : ''
  const to = target === '' || target === service.origin ? '' : `, to ${target}`
  return protocolError(service, `answers with a redirect${to}, which is not followed`, status)
}

/** @throws CountersignError PROTOCOL if the body has more bytes: the rest is not read */
async function readResponse(
  response: Response,
  maxBytes: number,
  service: URL,
): Promise<Uint8Array> {
  const body = await readBody(response, maxBytes)
  if (body !== 'too-large') return body ?? new Uint8Array()
  throw protocolError(service, `sends more than ${maxBytes} bytes`, response.status)
}

function mediaTypeOf(headers: Headers): string {
  return (headers.get('content-type') ?? '').split(';', 1).join('').trim().toLowerCase()
}

/** @returns undefined if it is not JSON in UTF-8 */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(bytes) ?? '')
  } catch {
    return undefined
  }
}

/** @returns undefined if it is not UTF-8 */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/**
 * Reads Retry-After (RFC 9110 section 10.2.3): seconds, or a date.
 * @param now milliseconds since 1970
 * @returns milliseconds; null if there is no such header or it has another form
 */
export function retryAfterOf(headers: Headers, now: number): number | null {
  const text = headers.get('retry-after')?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  // Date.parse would read `-1` as a year, so only text that begins with a weekday is a date.
  const date = /^[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}
