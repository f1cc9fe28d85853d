import { hostsIn, isHost } from './framing.ts'

/** The headers with which every response of a public read begins, as the router sends them. */
export const PLAIN_HEADERS = [
  ...['x-content-type-options', 'nosniff'],
  ...['access-control-allow-origin', '*'],
  ...['access-control-expose-headers', 'ETag'],
]

/** Headers that only the router handles, keyed by the length of their name for speed. */
const ROUTER_ONLY_HEADERS = new Map([
  [6, 'expect'],
  [8, 'if-match'],
  [13, 'if-none-match'],
  [14, 'content-length'],
  [17, 'transfer-encoding'],
])

/** Whether a request can be answered before the router: one valid Host header, no condition, no body. */
export function isPlain(rawHeaders: readonly string[]): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (ROUTER_ONLY_HEADERS.get(name.length) === name.toLowerCase()) return false
  }
  const hosts = hostsIn(rawHeaders)
  return hosts.length === 1 && isHost(hosts[0] as string)
}

/** Decodes the only characters of a DID that `encodeURIComponent` escapes (contract 4.1). */
export function decodeColons(reference: string): string {
  return reference.includes('%') ? reference.replaceAll(/%3a/gi, ':') : reference
}
