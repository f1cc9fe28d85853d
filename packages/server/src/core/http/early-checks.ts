import type { IncomingMessage } from 'node:http'
import { CodedError } from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { NOT_FOUND_MESSAGE } from './error-handler.ts'
import type { MethodGuard } from './method-guard.ts'

/** Creates the first hook of every request. It rejects bad Host headers, unknown URLs and unsupported methods. */
export function earlyChecks(isDraining: () => boolean, guard: MethodGuard) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    reply.header('x-content-type-options', 'nosniff')
    // Otherwise a client could send its next request on a connection that is about to be closed.
    if (isDraining()) reply.header('connection', 'close')
    if (!hasOneHost(request.raw)) {
      done(new CodedError('VALIDATION_ERROR', 'A request has exactly one Host header.'))
    } else if (request.raw.url === '*') {
      // `*` means the server as a whole; the router would serve the start page.
      done(new CodedError('NOT_FOUND', NOT_FOUND_MESSAGE))
    } else if (request.is404) {
      // Before the body is read: its errors do not matter if there is no such URL.
      done(guard.methodError(request, reply) ?? new CodedError('NOT_FOUND', NOT_FOUND_MESSAGE))
    } else done()
  }
}

/** RFC 9112 section 3.2: exactly one Host header. Of two, Node would use the first, and a proxy perhaps the last. */
function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
}
