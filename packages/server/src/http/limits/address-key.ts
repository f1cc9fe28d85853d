import ipaddr from 'ipaddr.js'

/** All unparsable addresses share one quota, so that inventing them gains nothing. */
const UNKNOWN = 'unknown'

/** Some proxies write an address with a port into X-Forwarded-For. */
const WITH_PORT = /^(?:\[(?<six>[^\]]+)\]|(?<four>[\d.]+))(?::\d{1,5})?$/

/**
 * The part of an address that shares one quota: a whole IPv4 address, or the /64 of an IPv6 address, which is the smallest
 * assignment to a site (RFC 6177). IPv4-mapped addresses (`::ffff:192.0.2.1`) count as IPv4.
 */
export function addressKey(address: string): string {
  const parsed = parse(address)
  if (parsed === null) return UNKNOWN
  return parsed.kind() === 'ipv4' ? parsed.toString() : prefixOf(parsed as ipaddr.IPv6, 4)
}

/** The network of an address: a /24 of IPv4, or a /48 of IPv6, which is what a provider assigns to a customer at most. */
export function networkKey(address: string): string {
  const parsed = parse(address)
  if (parsed === null) return UNKNOWN
  if (parsed.kind() === 'ipv6') return prefixOf(parsed as ipaddr.IPv6, 3)
  return `${(parsed as ipaddr.IPv4).octets.slice(0, 3).join('.')}.0/24`
}

function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const { six, four } = WITH_PORT.exec(address)?.groups ?? {}
  const text = six ?? four ?? address
  // ipaddr.js also accepts numbers such as 2130706433 as addresses.
  if (!ipaddr.IPv6.isValid(text) && !ipaddr.IPv4.isValidFourPartDecimal(text)) return null
  return ipaddr.process(text)
}

/** @param groups of 16 bits */
function prefixOf({ parts }: ipaddr.IPv6, groups: number): string {
  const prefix = parts.slice(0, groups).map((group) => group.toString(16))
  return `${prefix.join(':')}::/${16 * groups}`
}
