/** IPv4 networks that are not public (IANA's registry of special-purpose addresses): network and length of the prefix. */
const NOT_PUBLIC_V4: readonly (readonly [network: string, bits: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
]

/** Parts of 2000::/3, which has all global unicast addresses, that are not public: tunnels, documentation, benchmarks. */
const NOT_PUBLIC_V6: readonly (readonly [network: string, bits: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
]

/**
 * Whether an address is public: not loopback, private, link-local, multicast, mapped, translated or reserved.
 * @param text as a resolver returns it; anything else is not public
 */
export function isPublicAddress(text: string): boolean {
  const v4 = parseV4(text)
  if (v4 !== null) return !isInAny(v4, 32, NOT_PUBLIC_V4, parseV4)
  const v6 = parseV6(text)
  return v6 !== null && v6 >> 125n === 1n && !isInAny(v6, 128, NOT_PUBLIC_V6, parseV6)
}

function isInAny(
  address: bigint,
  size: number,
  networks: typeof NOT_PUBLIC_V4,
  parse: (text: string) => bigint | null,
): boolean {
  return networks.some(([network, bits]) => {
    const shift = BigInt(size - bits)
    return address >> shift === (parse(network) ?? 0n) >> shift
  })
}

function parseV4(text: string): bigint | null {
  if (!/^(?:(?:0|[1-9]\d{0,2})(?:\.|$)){4}$/.test(text) || text.endsWith('.')) return null
  const octets = text.split('.').map(Number)
  if (octets.some((each) => each > 255)) return null
  return octets.reduce((sum, each) => sum * 256n + BigInt(each), 0n)
}

/** Not with an IPv4 address at its end: those are mapped or translated, so not public. */
function parseV6(text: string): bigint | null {
  if (!/^[0-9a-f:]+$/i.test(text)) return null
  const halves = text.split('::')
  if (halves.length > 2) return null
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')))
  const missing = 8 - head.length - tail.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null
  const groups = [...head, ...Array<string>(missing).fill('0'), ...tail]
  if (!groups.every((each) => /^[0-9a-f]{1,4}$/i.test(each))) return null
  return groups.reduce((sum, each) => sum * 65_536n + BigInt(`0x${each}`), 0n)
}
