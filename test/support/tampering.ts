/** A change to a valid text. */
interface Tampering {
  readonly name: string
  readonly of: (good: string) => string
}

/** The order of Ed25519's base point. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n

function bytewise(change: (good: Buffer) => Buffer): (good: string) => string {
  return (good) => change(Buffer.from(good, 'base64')).toString('base64')
}

const IDENTITY = Buffer.concat([Buffer.from([1]), Buffer.alloc(31)])

/** Invalid signatures of 64 bytes in canonical base64, derived from a valid one. */
export const FORGERIES: readonly Tampering[] = [
  { name: 'S + L', of: signature((r, s) => [r, s + L]) },
  { name: 'S + 2L', of: signature((r, s) => [r, s + 2n * L]) },
  { name: 'S = L', of: signature((r) => [r, L]) },
  { name: 'S with its top bits set', of: signature((r, s) => [r, s | (7n << 253n)]) },
  { name: 'S negated', of: signature((r, s) => [r, L - s]) },
  { name: 'S = 0', of: signature((r) => [r, 0n]) },
  { name: 'one bit of S flipped', of: signature((r, s) => [r, s ^ 1n]) },
  { name: 'one bit of R flipped', of: signature((r, s) => [withBit(r, 0, 0x01), s]) },
  { name: 'R negated', of: signature((r, s) => [withBit(r, 31, 0x80), s]) },
  { name: 'R the identity', of: signature((_, s) => [IDENTITY, s]) },
  { name: 'R the identity, S = 0', of: signature(() => [IDENTITY, 0n]) },
  { name: 'all zero', of: signature(() => [Buffer.alloc(32), 0n]) },
  { name: 'all ones', of: signature(() => [Buffer.alloc(32, 0xff), 2n ** 256n - 1n]) },
]

function signature(change: (r: Buffer, s: bigint) => [Buffer, bigint]): (good: string) => string {
  return bytewise((good) => {
    const [r, s] = change(good.subarray(0, 32), littleEndian(good.subarray(32)))
    return Buffer.concat([r, toLittleEndian(s)])
  })
}

function withBit(bytes: Buffer, at: number, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] as number) ^ bit
  return copy
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

function toLittleEndian(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse()
}
