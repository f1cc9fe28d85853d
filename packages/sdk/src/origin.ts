import { CountersignError } from './errors.ts'

/**
 * The origin of a web address, in its one spelling: `https://Shop.example:443/x` is `https://shop.example`.
 * @throws CountersignError INVALID_ARGUMENT for what is no http or https address
 */
export function originOf(address: string | URL, what: string): string {
  const text = String(address)
  if (URL.canParse(text)) {
    const { origin, protocol } = new URL(text)
    if (protocol === 'https:' || protocol === 'http:') return origin
  }
  throw new CountersignError(
    'INVALID_ARGUMENT',
    `${what} is not a web address, such as https://id.example`,
  )
}
