import { CountersignError } from './errors.ts'

/**
 * The canonical origin of a web address: `https://Shop.example:443/x` becomes `https://shop.example`.
 * @param what names the value in messages
 * @throws CountersignError INVALID_ARGUMENT if it is not an http or https address
 */
export function originOf(address: string | URL, what: string): string {
  const text = String(address)
  if (URL.canParse(text)) {
    const { origin, protocol } = new URL(text)
    if (protocol === 'https:' || protocol === 'http:') return origin
  }
  throw new CountersignError(
    'INVALID_ARGUMENT',
    `${what} is not a web address. Give all of it, such as https://shop.example.`,
  )
}
