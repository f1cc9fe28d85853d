import ipaddr from 'ipaddr.js'

/** All that is given out as global unicast (RFC 4291 section 2.4); `::127.0.0.1`, which is unicast too, is not in it. */
const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3')

/** Whether an address is one of the public internet: no loopback, private, link-local, mapped or translated one. */
export function isPublicAddress(text: string): boolean {
  const address = processed(text)
  if (address === null || address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST_V6)
}

export function isLoopbackAddress(text: string): boolean {
  return processed(text)?.range() === 'loopback'
}

/** An IPv4 address in the clothes of IPv6 (`::ffff:127.0.0.1`) becomes what it is. */
function processed(text: string) {
  return ipaddr.isValid(text) ? ipaddr.process(text) : null
}
