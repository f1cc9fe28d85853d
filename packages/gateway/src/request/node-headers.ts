import type { IncomingMessage } from 'node:http'
import type { Forwarded } from '../forwarded.ts'

type Test = (name: string) => boolean

/** Takes identity headers out of a request of node:http, wherever it keeps them. */
export function stripNodeHeaders(request: IncomingMessage, isIdentity: Test): void {
  if (hasAny(request, isIdentity)) strip(request, isIdentity)
}

function hasAny({ rawHeaders, headers }: IncomingMessage, isIdentity: Test): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (isIdentity(rawHeaders[i] as string)) return true
  }
  // Where there is no connection (AWS Lambda and the like), adapters may fill `headers` alone.
  return rawHeaders.length === 0 && Object.keys(headers).some(isIdentity)
}

function strip(request: IncomingMessage, isIdentity: Test): void {
  const { rawHeaders, headers, headersDistinct } = request
  for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
    if (isIdentity(rawHeaders[i] as string)) rawHeaders.splice(i, 2)
  }
  // node:http2 has no headersDistinct.
  for (const kept of [headers, headersDistinct ?? {}]) {
    for (const name of Object.keys(kept)) if (isIdentity(name)) delete kept[name]
  }
}

/** Adds what was decided, for the site behind. */
export function forwardToNode(request: IncomingMessage, forwarded: Forwarded): void {
  for (const [name, value, lower] of forwarded) {
    request.headers[lower] = value
    request.rawHeaders.push(name, value)
  }
}

/** A field of a request of node:http as one text: those sent several times are joined (RFC 9110 section 5.3). */
export function fieldOf(request: IncomingMessage, lower: string): string | null {
  const value = request.headers[lower]
  return typeof value === 'string' ? value : (value?.join(', ') ?? null)
}
