import type { Decision } from '../decision/decision.ts'
import type { GatewayRequest } from './gateway-request.ts'

/** Whose rate limit a request takes from: that of an agent or a directory, or its address. */
export function limitKey(
  { did, status, proofOfPossession, directory }: Decision,
  request: Pick<GatewayRequest, 'address'>,
): string {
  if (directory !== null) return `directory ${directory}`
  if (did === null || status === null) return addressKey(addressOf(request) ?? '')
  // Separate, so that a caller without proof cannot use up the limit of the agent that it names.
  return `${proofOfPossession ? 'proven' : 'named'} ${did}`
}

/** Null if the framework cannot determine it. */
export function addressOf(request: Pick<GatewayRequest, 'address'>): string | null {
  try {
    return request.address()
  } catch {
    return null
  }
}

/**
 * The key under which requests of an address are counted: an IPv4 address, or the /64 of an IPv6 address, because one
 * household or machine usually has a whole /64. Text that is no address is its own key, truncated.
 */
export function addressKey(address: string): string {
  const bare = address.replace(/%.*$/, '').toLowerCase()
  if (!bare.includes(':')) return bare.slice(0, 64)
  const mapped = /^(?:::|(?:0{1,4}:){5})ffff:(\d{1,3}(?:\.\d{1,3}){3})$/.exec(bare)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = bare.split('::', 2)
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const gap = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const groups = [...before, ...new Array<string>(gap).fill('0'), ...after]
  const first = groups.slice(0, 4).map((each) => each.replace(/^0+(?=.)/, ''))
  return `${first.join(':').slice(0, 64)}::/64`
}
