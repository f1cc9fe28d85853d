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

/** Connections that have been refused, or will be in their turn. */
const refused = new WeakSet<Duplex>()

/** Answers what never reaches Fastify: parser errors, and what Node would drop or answer on its own. */
export function answerUnrouted(server: Server): void {
  server.on('clientError', answerParserError)
  server.on('connect', (_request, socket) =>
    refuse(socket, 'This is no proxy: CONNECT is refused.'),
  )
  server.on('checkExpectation', (_request, response) => {
    const { status, body } = badRequest('The only expectation that can be met is 100-continue.')
    response.writeHead(status, { ...HEADERS, connection: 'close' }).end(body)
  })
}

function answerParserError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
  else if (!refused.has(socket)) {
    refuse(socket, MESSAGES[error.code ?? ''] ?? 'This is not a well-formed HTTP request.')
  }
}

/**
 * Ends a connection with a refusal, in its turn: requests that came whole before it get their own answers first,
 * so that no client takes the refusal for the answer to one of them.
 */
function refuse(socket: Duplex, message: string): void {
  refused.add(socket)
  // Node has no public name for the answer that a connection waits for.
  const pending = (socket as { _httpMessage?: ServerResponse | null })._httpMessage
  if (pending?.req.complete) {
    pending.once('finish', () => refuse(socket, message))
    return
  }
  if (!socket.writable) return
  const { status, body } = badRequest(message)
  const headers = { ...HEADERS, 'content-length': Buffer.byteLength(body), connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${status} Bad Request\r\n${lines.join('')}\r\n${body}`)
  // Without waiting for the other side, which could hold the connection open for ever.
  ;(socket as Socket).destroySoon()
}

function badRequest(message: string): { status: number; body: string } {
  const { status, body } = errorResponse('VALIDATION_ERROR', message, newRequestId())
  return { status, body: JSON.stringify(body) }
}
