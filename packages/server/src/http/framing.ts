import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIPv6, type Socket } from 'node:net'
import { CodedError } from '@countersign/protocol'

/** Connections whose next bytes must not be read as a request. */
const ending = new WeakSet<Socket>()
/** The last response on a connection whose request has a body in chunks, which alone can be malformed after its headers. */
const lastChunked = new WeakMap<object, ServerResponse>()

/** Whether a request must be ignored, because it follows one with faulty framing on the same connection. */
export function isAfterEnd({ socket }: IncomingMessage): boolean {
  return ending.has(socket)
}

/** Ends the connection after this response if another implementation could read the framing of the request differently. */
export function endIfFaulty(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers['transfer-encoding'] === undefined) return
  lastChunked.set(request.socket, response)
  // RFC 9112 section 6.1: chunks in HTTP/1.0 are faulty framing, even with keep-alive.
  if (request.httpVersion !== '1.0' && hasOnlyChunks(request)) return
  ending.add(request.socket)
  response.shouldKeepAlive = false
}

/** The response to the request whose body is still arriving on a connection, if that body comes in chunks. */
export function responseDuringChunks(socket: object): ServerResponse | null {
  const response = lastChunked.get(socket)
  return response === undefined || response.req.complete ? null : response
}

/** @throws CodedError VALIDATION_ERROR, NOT_IMPLEMENTED */
export function assertFraming(request: IncomingMessage): void {
  if (!hasValidHost(request)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'A request has exactly one Host header with a valid host, and optionally a port.',
    )
  }
  if (!hasOnlyChunks(request)) throw unknownCoding()
}

/** RFC 9112 section 6.1. */
export function unknownCoding(): CodedError {
  return new CodedError('NOT_IMPLEMENTED', 'The only transfer coding that is supported is chunked.')
}

function hasOnlyChunks({ headers }: IncomingMessage): boolean {
  const codings = headers['transfer-encoding']
  return codings === undefined || codings.trim().toLowerCase() === 'chunked'
}

/** RFC 9112 section 3.2: exactly one valid Host header. Of two, Node would use the first, and a proxy perhaps the last. */
function hasValidHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  const hosts = hostsIn(rawHeaders)
  if (hosts.length === 0) return httpVersion === '1.0'
  return hosts.length === 1 && isHost(hosts[0] as string)
}

/** The values of all Host headers. Reads the raw headers, since Node builds `request.headers` only on access. */
export function hostsIn(rawHeaders: readonly string[]): string[] {
  const hosts: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts.push(rawHeaders[i + 1] as string)
  }
  return hosts
}

/** RFC 3986 sections 3.2.2 and 3.2.3: a name or an IPv4 address, or an IPv6 address in brackets; then perhaps a port. */
const HOST =
  /^(?:\[([0-9A-Fa-f:.]+)\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)(?::\d{0,5})?$/

/** Whether text is a Host header's value for an http URL, whose host is never empty (RFC 9110 section 4.2.1). */
export function isHost(text: string): boolean {
  const match = HOST.exec(text)
  return match !== null && (match[1] === undefined || isIPv6(match[1]))
}
