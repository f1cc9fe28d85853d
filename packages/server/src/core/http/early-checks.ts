import type { IncomingMessage } from 'node:http'
import { CodedError } from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { NOTHING_HERE } from './error-handler.ts'
import type { MethodGuard } from './methods.ts'

/** A hook for every request, before anything else looks at it. */
export function earlyChecks(isDraining: () => boolean, guard: MethodGuard) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    reply.header('x-content-type-options', 'nosniff')
    // A caller that keeps its connection would send its next request into the end of the service.
    if (isDraining()) reply.header('connection', 'close')
    // What is asked of one host is not answered for two.
    if (!hasOneHost(request.raw)) {
      done(new CodedError('VALIDATION_ERROR', 'A request has exactly one Host header.'))
    } else if (request.raw.url === '*') {
      // The router would take `*`, which is the server as a whole, for the start page.
      done(new CodedError('NOT_FOUND', NOTHING_HERE))
    } else if (request.is404) {
      // Before the body is read: what is wrong with a body that nothing would read does not matter.
      done(guard.refusalOf(request, reply) ?? new CodedError('NOT_FOUND', NOTHING_HERE))
    } else done()
  }
}

/** RFC 9112 section 3.2: exactly one Host header. Node takes the first of two, a proxy may take the last. */
function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
}
