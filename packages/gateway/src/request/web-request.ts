import { type RawRequest, readBody } from '@countersign/protocol'
import type { BodyReader } from './gateway-request.ts'
import { type ForwardedHeaders, mergeVary } from './headers.ts'

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

/**
 * Path and query of an absolute URL as it is written. `new URL()` would resolve dot segments, which the application may
 * read differently.
 */
export function targetOf(url: string): string {
  return url.slice(url.indexOf('/', url.indexOf('//') + 2))
}

/**
 * Removes identity headers that the client sent, and sets the gateway's own.
 * @returns the request itself; a copy where requests cannot be changed, as on Workers and Deno
 */
export function withIdentityHeaders(
  request: Request,
  isIdentity: (name: string) => boolean,
  forwarded: ForwardedHeaders,
): Request {
  const { headers } = request
  try {
    replaceIdentityHeaders(headers, isIdentity, forwarded)
    // A platform could hand out copies of the headers.
    if (request.headers === headers) return request
  } catch {}
  const changed = new Headers(headers)
  replaceIdentityHeaders(changed, isIdentity, forwarded)
  return withHeaders(request, changed)
}

function replaceIdentityHeaders(
  headers: Headers,
  isIdentity: (name: string) => boolean,
  forwarded: ForwardedHeaders,
): void {
  for (const name of identityNames(headers, isIdentity)) headers.delete(name)
  for (const [name, value] of forwarded) headers.set(name, value)
}

function identityNames(headers: Headers, isIdentity: (name: string) => boolean): string[] {
  const names: string[] = []
  headers.forEach((_, name) => {
    if (isIdentity(name)) names.push(name)
  })
  return names
}

/** Adds names to the response's `Vary`. @returns a copy if the headers of the response are immutable */
export function addVary(response: Response, names: string): Response {
  const current = response.headers.get('vary')
  const vary = mergeVary(current, names)
  if (vary === current) return response
  try {
    response.headers.set('vary', vary)
    return response
  } catch {
    // Responses below 200 cannot be constructed, and 101 (switching protocols) is never cached.
    if (response.status < 200) return response
    const copy = new Response(response.body, response)
    copy.headers.set('vary', vary)
    return copy
  }
}

/**
 * A copy of a request with other headers. Next.js hands out a proxy of its requests, of which the constructor cannot make a copy: the
 * copy then has the parts that a handler reads.
 */
function withHeaders(request: Request, headers: Headers): Request {
  try {
    return new Request(request, { headers })
  } catch (error) {
    if (!(error instanceof TypeError) || request.bodyUsed) throw error
    const { url, method, body, signal } = request
    return new Request(url, { method, headers, body, signal, ...(body && { duplex: 'half' }) })
  }
}
