import { CodedError } from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { NOT_FOUND_MESSAGE } from './error-handler.ts'
import { assertFraming } from './framing.ts'
import type { MethodGuard } from './method-guard.ts'

/** Creates the first hook of every request. It rejects bad Host headers, unknown transfer codings, unknown URLs and unsupported methods. */
export function earlyChecks(isDraining: () => boolean, guard: MethodGuard) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    reply.header('x-content-type-options', 'nosniff')
    // Otherwise a client could send its next request on a connection that is about to be closed.
    if (isDraining()) reply.header('connection', 'close')
    assertFraming(request.raw)
    if (request.raw.url === '*') {
      // `*` means the server as a whole; the router would serve the start page.
      done(new CodedError('NOT_FOUND', NOT_FOUND_MESSAGE))
    } else if (request.is404) {
      // Before the body is read: its errors do not matter if there is no such URL.
      done(guard.methodError(request, reply) ?? new CodedError('NOT_FOUND', NOT_FOUND_MESSAGE))
    } else done()
  }
}
