import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { RawRequest } from '@countersign/protocol'
import type { GatewayRequest } from './gateway-request.ts'
import {
  type AcceptedProofs,
  type ForwardedHeaders,
  type HeaderReader,
  isPreflight,
  isSigned,
} from './headers.ts'

/** Where body parsers put the bytes of a body, if the application has told them to. */
interface ParsedRequest {
  readonly rawBody?: unknown
  readonly body?: unknown
}

/** What a framework says of a request's connection. With proxies that it trusts, from their headers. */
interface Connection {
  readonly ip?: string | undefined
  readonly protocol?: string | undefined
}

/** What decides on how requests are read. */
interface Reading {
  /** In lower case. */
  readonly idHeader: string
  readonly accepts: AcceptedProofs
  readonly tlsTerminated: boolean
}

/** What a gateway asks about a request of node:http. A class, so that a request creates no functions. */
export class NodeRequest implements GatewayRequest, HeaderReader {
  readonly method: string
  readonly target: string
  readonly identification: string | null
  readonly authorization: string | null
  readonly readBody = null
  readonly #node: IncomingMessage
  readonly #connection: Connection
  readonly #tlsTerminated: boolean

  /** @param target as sent, before a router has changed it */
  constructor(
    node: IncomingMessage,
    target: string,
    connection: Connection,
    { idHeader, accepts, tlsTerminated }: Reading,
  ) {
    this.#node = node
    this.#connection = connection
    this.#tlsTerminated = tlsTerminated
    this.method = node.method ?? 'GET'
    this.target = target
    this.identification = headerOf(node, idHeader)
    this.authorization = accepts.sessions ? headerOf(node, 'authorization') : null
  }

  get(lower: string): string | null {
    return headerOf(this.#node, lower)
  }

  get preflight(): boolean {
    return isPreflight(this.method, this)
  }

  get signed(): boolean {
    return isSigned(this)
  }

  address(): string | null {
    return this.#connection.ip ?? this.#node.socket?.remoteAddress ?? null
  }

  raw(): RawRequest {
    const scheme = this.#tlsTerminated ? 'https' : this.#connection.protocol
    return rawNodeRequest(this.#node, this.target, scheme)
  }
}

/**
 * A request as node:http received it.
 * @param target as sent, before a router has changed it
 * @param scheme that of the client's connection; anything but `https` is http
 */
export function rawNodeRequest(
  request: IncomingMessage & ParsedRequest,
  target: string,
  scheme: string | undefined,
): RawRequest {
  const { method = 'GET', rawHeaders } = request
  // HTTP/2 requests can have content without a header that says so.
  const { stream } = request as unknown as Partial<Http2ServerRequest>
  return {
    method,
    scheme: scheme === 'https' ? 'https' : 'http',
    authority: headerOf(request, ':authority') ?? headerOf(request, 'host') ?? '',
    target,
    headers: fieldsOf(rawHeaders),
    body: bytesOf(request),
    hasContent: stream === undefined ? undefined : !stream.endAfterHeaders,
  }
}

/** Without the pseudo-header fields of HTTP/2. */
function fieldsOf(rawHeaders: readonly string[]): [string, string][] {
  const fields: [string, string][] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (!name.startsWith(':')) fields.push([name, rawHeaders[i + 1] as string])
  }
  return fields
}

/** Parsers decompress bodies, and the digest is that of the compressed ones, so those are not visible here. */
function bytesOf(request: IncomingMessage & ParsedRequest): Uint8Array | undefined {
  if (headerOf(request, 'content-encoding') !== null) return undefined
  const { rawBody, body } = request
  if (rawBody instanceof Uint8Array) return rawBody
  return body instanceof Uint8Array ? body : undefined
}

type HeaderMatcher = (name: string) => boolean

/** Removes identity headers from every place where node:http stores headers. */
export function stripIdentityHeaders(request: IncomingMessage, isIdentity: HeaderMatcher): void {
  if (hasAny(request, isIdentity)) strip(request, isIdentity)
}

function hasAny({ rawHeaders, headers }: IncomingMessage, isIdentity: HeaderMatcher): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (isIdentity(rawHeaders[i] as string)) return true
  }
  // Adapters for serverless platforms such as AWS Lambda may fill in `headers` only.
  return rawHeaders.length === 0 && Object.keys(headers).some(isIdentity)
}

function strip(request: IncomingMessage, isIdentity: HeaderMatcher): void {
  const { rawHeaders, headers, headersDistinct } = request
  for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
    if (isIdentity(rawHeaders[i] as string)) rawHeaders.splice(i, 2)
  }
  // node:http2 has no headersDistinct.
  for (const fields of [headers, headersDistinct ?? {}]) {
    for (const name of Object.keys(fields)) if (isIdentity(name)) delete fields[name]
  }
}

/** Adds the headers for the site behind the gateway. */
export function addForwardedHeaders(request: IncomingMessage, forwarded: ForwardedHeaders): void {
  const { headers, rawHeaders } = request
  for (const [name, value, lower] of forwarded) {
    headers[lower] = value
    rawHeaders.push(name, value)
  }
}

/** A request header as one string. Repeated headers are joined with commas (RFC 9110 section 5.3). */
export function headerOf(request: IncomingMessage, lower: string): string | null {
  const value = request.headers[lower]
  return typeof value === 'string' ? value : (value?.join(', ') ?? null)
}
