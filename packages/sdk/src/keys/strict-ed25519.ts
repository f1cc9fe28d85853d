import { keyFault } from '@countersign/protocol'
import { ed25519 } from '@noble/curves/ed25519.js'
import { sha512 } from '@noble/hashes/sha2.js'

const { Point } = ed25519
/** The order of the base point (RFC 8032 section 5.1). */
const L = Point.Fn.ORDER

/** A key that can be certified. */
interface StrictKey {
  readonly bytes: Uint8Array
  readonly point: InstanceType<typeof Point>
}

/** Strict verification (see verify-signature.ts), in a module of its own so that it is loaded on demand. */
export function isStrictSignature(
  { bytes, point }: StrictKey,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (signature.length !== 64) return false
  const s = littleEndian(signature.subarray(32))
  if (s >= L) return false
  const r = signature.subarray(0, 32)
  const hash = sha512.create().update(r).update(bytes).update(message).digest()
  const k = littleEndian(hash) % L
  const expected = Point.BASE.multiplyUnsafe(s).subtract(point.multiplyUnsafe(k))
  // Comparing the encoded R rejects a non-canonical one.
  return !expected.isSmallOrder() && expected.toBytes().every((byte, i) => byte === r[i])
}

/** Checks a key (`keyFault`), which takes nearly as long as a verification. @returns null if it cannot be certified */
export function strictKeyOf(publicKey: Uint8Array): StrictKey | null {
  if (publicKey.length !== 32 || keyFault(publicKey) !== null) return null
  return { bytes: Uint8Array.from(publicKey), point: Point.fromBytes(publicKey) }
}

function littleEndian(bytes: Uint8Array): bigint {
  let number = 0n
  for (let i = bytes.length - 1; i >= 0; i--) number = (number << 8n) | BigInt(bytes[i] as number)
  return number
}
