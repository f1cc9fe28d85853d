import ipaddr from 'ipaddr.js'

/** Every address that cannot be read is the same one: whoever makes them up gains nothing. */
const UNKNOWN = 'unknown'

/** What some proxies put into X-Forwarded-For: an address with a port. */
const WITH_PORT = /^(?:\[(?<six>[^\]]+)\]|(?<four>[\d.]+))(?::\d{1,5})?$/

/**
 * What of an address is counted: IPv4 as a whole, of IPv6 the /64, since that is the least that anybody gets (RFC 6177);
 * IPv4 in IPv6 (`::ffff:192.0.2.1`) as what it is.
 */
export function countedPart(address: string): string {
  const { six, four } = WITH_PORT.exec(address)?.groups ?? {}
  const text = six ?? four ?? address
  // ipaddr.js would take numbers such as 2130706433 for an address too.
  if (!ipaddr.IPv6.isValid(text) && !ipaddr.IPv4.isValidFourPartDecimal(text)) return UNKNOWN
  const parsed = ipaddr.process(text)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  const groups = (parsed as ipaddr.IPv6).parts.slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}
