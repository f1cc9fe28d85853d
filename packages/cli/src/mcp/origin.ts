import { Failure } from '../failure.ts'

/**
 * Reads the origin of a site (RFC 6454); a slash at its end is none of its path.
 * @param what how the message names it
 * @throws Failure USAGE, without repeating the text
 */
export function parseOrigin(text: string, what: string): string {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) {
    return url.origin
  }
  throw new Failure(
    'USAGE',
    `${what} is an address without path, query or credentials, such as https://shop.example.`,
  )
}
