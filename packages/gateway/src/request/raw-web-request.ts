import { type RawRequest, readBody } from '@countersign/protocol'
import type { BodyReader } from '../signatures.ts'
import { targetOf } from './web-target.ts'

/** A `Request` as far as it shows what was received. @param tlsTerminated whether it counts as https */
export function rawWebRequest(request: Request, tlsTerminated: boolean): RawRequest {
  const { host, protocol } = new URL(request.url)
  return {
    method: request.method,
    scheme: tlsTerminated || protocol === 'https:' ? 'https' : 'http',
    authority: host,
    target: targetOf(request.url).replace(/#.*$/s, ''),
    headers: [...request.headers],
  }
}

/** Reads a clone of a body, so that the application can still read it. Without one, a clone would only cost. */
export function bodyReader(request: Request): BodyReader {
  return async () => (request.body === null ? null : readBody(request.clone()))
}
