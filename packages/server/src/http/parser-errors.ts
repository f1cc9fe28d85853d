import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorResponse } from './error-handler.ts'
import { newRequestId } from './request-id.ts'

/** Errors of Node's HTTP parser, which come before there is a request. */
export function answerParserError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const message =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'The request line and the headers have more than 16 KiB.'
      : 'This is not a well-formed HTTP request.'
  const { status, body } = errorResponse('VALIDATION_ERROR', message, newRequestId())
  const json = JSON.stringify(body)
  socket.end(
    `HTTP/1.1 ${status} Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\nContent-Length: ${Buffer.byteLength(json)}\r\nConnection: close\r\n\r\n${json}`,
  )
}

/** Errors of Fastify's router, which come before there is a route: an address that cannot be decoded. */
export function answerRouterError(
  _error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const message =
    'The address is not well-formed: a percent sign must be followed by the UTF-8 bytes of a character.'
  const { status, body } = errorResponse('VALIDATION_ERROR', message, request.id)
  reply.code(status).header('cache-control', 'no-store').send(body)
}
