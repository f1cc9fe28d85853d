import { type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ErrorCode } from '@countersign/protocol'
import { countUnanswered, isOneTooMany } from './connection-limit.ts'
import { errorResponse } from './error-handler.ts'
import { responseDuringChunks, unknownCoding } from './framing.ts'
import { newRequestId } from './request-id.ts'

const HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }

const MESSAGES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The request line and the headers have more than 16 KiB.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
}

/** Connections with an error response sent or pending. */
const rejected = new WeakSet<Duplex>()

/** Answers what never reaches Fastify: HTTP parser errors, CONNECT and unknown expectations. */
export function answerUnrouted(server: Server): void {
  server.on('clientError', answerParserError)
  server.on('connect', (_request, socket) =>
    reject(socket, 'This server is not a proxy. CONNECT is refused.'),
  )
  server.on('checkExpectation', (request, response) => {
    if (isOneTooMany(request)) return
    const { status, body } = errorText(
      'VALIDATION_ERROR',
      'The only supported expectation is 100-continue.',
    )
    response.writeHead(status, { ...HEADERS, connection: 'close' }).end(body)
    countUnanswered(request, response)
  })
}

interface ParserError extends NodeJS.ErrnoException {
  /** The parser's own words. */
  readonly reason?: string
}

function answerParserError(error: ParserError, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
  else if (!rejected.has(socket)) {
    const answered = responseDuringChunks(socket)
    if (answered?.headersSent) closeAfter(answered, socket)
    else if (isUnknownCoding(error)) {
      const { code, message } = unknownCoding()
      reject(socket, message, code)
    } else reject(socket, MESSAGES[error.code ?? ''] ?? 'The HTTP request is malformed.')
  }
}

/** A length besides chunks has the same code, and is malformed whatever the coding. */
function isUnknownCoding({ code, reason = '' }: ParserError): boolean {
  return code === 'HPE_INVALID_TRANSFER_ENCODING' && !reason.includes('Content-Length')
}

/** A request whose malformed body was not needed, such as that of a GET, has its answer: a second one would be taken for that of another request. */
function closeAfter(response: ServerResponse, socket: Duplex): void {
  rejected.add(socket)
  if (response.writableFinished) (socket as Socket).destroySoon()
  else response.once('finish', () => (socket as Socket).destroySoon())
}

/**
 * Sends an error and closes the connection. Complete requests that came before on the same connection are answered first,
 * so that a client does not take the error for the response to one of them.
 */
function reject(socket: Duplex, message: string, code: ErrorCode = 'VALIDATION_ERROR'): void {
  rejected.add(socket)
  // Node has no public property for the response in progress on a socket.
  const pending = (socket as { _httpMessage?: ServerResponse | null })._httpMessage
  if (pending?.req.complete) {
    pending.once('finish', () => reject(socket, message, code))
    return
  }
  if (!socket.writable) return
  const { status, body } = errorText(code, message)
  const headers = { ...HEADERS, 'content-length': Buffer.byteLength(body), connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const content = pending?.req.method === 'HEAD' ? '' : body
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${content}`)
  // Does not wait for the client to close, which could hold the connection open forever.
  ;(socket as Socket).destroySoon()
}

function errorText(code: ErrorCode, message: string): { status: number; body: string } {
  const { status, body } = errorResponse(code, message, newRequestId())
  return { status, body: JSON.stringify(body) }
}
