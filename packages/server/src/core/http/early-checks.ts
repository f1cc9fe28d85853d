import { CodedError } from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { NOTHING_HERE } from './error-handler.ts'
import { hasOneHost } from './host-header.ts'

/** A hook for every request, before anything else looks at it. */
export function greet(isDraining: () => boolean) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    reply.header('x-content-type-options', 'nosniff')
    // A caller that keeps its connection would send its next request into the end of the service.
    if (isDraining()) reply.header('connection', 'close')
    // What is asked of one host is not answered for two.
    if (!hasOneHost(request.raw)) {
      done(new CodedError('VALIDATION_ERROR', 'A request has exactly one Host header.'))
    } else if (request.is404 || request.raw.url === '*') {
      // Before the body is read: where there is nothing, what is wrong with a body does not matter. The router would
      // take `*`, which is the server as a whole, for the start page.
      done(new CodedError('NOT_FOUND', NOTHING_HERE))
    } else done()
  }
}
