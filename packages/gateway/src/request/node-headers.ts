import type { IncomingMessage } from 'node:http'
import type { ForwardedHeaders } from '../forwarded-headers.ts'

type HeaderMatcher = (name: string) => boolean

/** Removes identity headers from every place where node:http stores headers. */
export function stripIdentityHeaders(request: IncomingMessage, isIdentity: HeaderMatcher): void {
  if (hasAny(request, isIdentity)) strip(request, isIdentity)
}

function hasAny({ rawHeaders, headers }: IncomingMessage, isIdentity: HeaderMatcher): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (isIdentity(rawHeaders[i] as string)) return true
  }
  // Adapters for serverless platforms such as AWS Lambda may fill in `headers` only.
  return rawHeaders.length === 0 && Object.keys(headers).some(isIdentity)
}

function strip(request: IncomingMessage, isIdentity: HeaderMatcher): void {
  const { rawHeaders, headers, headersDistinct } = request
  for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
    if (isIdentity(rawHeaders[i] as string)) rawHeaders.splice(i, 2)
  }
  // node:http2 has no headersDistinct.
  for (const fields of [headers, headersDistinct ?? {}]) {
    for (const name of Object.keys(fields)) if (isIdentity(name)) delete fields[name]
  }
}

/** Adds the headers for the site behind the gateway. */
export function addForwardedHeaders(request: IncomingMessage, forwarded: ForwardedHeaders): void {
  for (const [name, value, lower] of forwarded) {
    request.headers[lower] = value
    request.rawHeaders.push(name, value)
  }
}

/** A request header as one string. Repeated headers are joined with commas (RFC 9110 section 5.3). */
export function headerOf(request: IncomingMessage, lower: string): string | null {
  const value = request.headers[lower]
  return typeof value === 'string' ? value : (value?.join(', ') ?? null)
}
