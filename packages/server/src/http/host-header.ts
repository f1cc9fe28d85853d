import { CodedError } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'

/** RFC 9112 section 3.2: exactly one Host header. Node takes the first of two, a proxy may take the last. */
export function requireOneHost(
  request: FastifyRequest,
  _reply: unknown,
  done: (error?: Error) => void,
): void {
  const { rawHeaders, httpVersion } = request.raw
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) done()
  else done(new CodedError('VALIDATION_ERROR', 'A request has exactly one Host header.'))
}
