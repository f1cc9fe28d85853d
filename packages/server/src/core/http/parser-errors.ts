import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { errorResponse } from './error-handler.ts'
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
    reject(socket, 'This is no proxy: CONNECT is refused.'),
  )
  server.on('checkExpectation', (_request, response) => {
    const { status, body } = badRequest('The only expectation that can be met is 100-continue.')
    response.writeHead(status, { ...HEADERS, connection: 'close' }).end(body)
  })
}

function answerParserError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
  else if (!rejected.has(socket)) {
    reject(socket, MESSAGES[error.code ?? ''] ?? 'This is not a well-formed HTTP request.')
  }
}

/**
 * Sends an error and closes the connection. Complete requests that came before on the same connection are answered first,
 * so that a client does not take the error for the response to one of them.
 */
function reject(socket: Duplex, message: string): void {
  rejected.add(socket)
  // Node has no public property for the response in progress on a socket.
  const pending = (socket as { _httpMessage?: ServerResponse | null })._httpMessage
  if (pending?.req.complete) {
    pending.once('finish', () => reject(socket, message))
    return
  }
  if (!socket.writable) return
  const { status, body } = badRequest(message)
  const headers = { ...HEADERS, 'content-length': Buffer.byteLength(body), connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${status} Bad Request\r\n${lines.join('')}\r\n${body}`)
  // Does not wait for the client to close, which could hold the connection open forever.
  ;(socket as Socket).destroySoon()
}

function badRequest(message: string): { status: number; body: string } {
  const { status, body } = errorResponse('VALIDATION_ERROR', message, newRequestId())
  return { status, body: JSON.stringify(body) }
}
