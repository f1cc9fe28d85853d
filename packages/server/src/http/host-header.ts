import type { IncomingMessage } from 'node:http'
import { CodedError } from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** RFC 9112 section 3.2: exactly one Host header. Node takes the first of two, a proxy may take the last. */
export function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
}

/** A hook for every request: what is asked of one host is not answered for two. */
export function greet(
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  reply.header('x-content-type-options', 'nosniff')
  if (hasOneHost(request.raw)) done()
  else done(new CodedError('VALIDATION_ERROR', 'A request has exactly one Host header.'))
}
