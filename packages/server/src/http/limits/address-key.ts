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
  const { six, four } = WITH_PORT.exec(address)?.groups ?? {}
  const text = six ?? four ?? address
  // ipaddr.js also accepts numbers such as 2130706433 as addresses.
  if (!ipaddr.IPv6.isValid(text) && !ipaddr.IPv4.isValidFourPartDecimal(text)) return UNKNOWN
  const parsed = ipaddr.process(text)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  const groups = (parsed as ipaddr.IPv6).parts.slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}
