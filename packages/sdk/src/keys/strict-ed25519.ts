import { keyFault } from '@countersign/protocol'
import { ed25519 } from '@noble/curves/ed25519.js'
import { sha512 } from '@noble/hashes/sha2.js'

const { Point } = ed25519
/** The order of the base point (RFC 8032 section 5.1). */
const L = Point.Fn.ORDER

/** Strict verification (see verify-signature.ts), in a module of its own so that it is loaded on demand. */
export function isStrictSignature(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (publicKey.length !== 32 || signature.length !== 64) return false
  const s = littleEndian(signature.subarray(32))
  if (s >= L || keyFault(publicKey) !== null) return false
  const r = signature.subarray(0, 32)
  const hash = sha512.create().update(r).update(publicKey).update(message).digest()
  const k = littleEndian(hash) % L
  const expected = Point.BASE.multiplyUnsafe(s).subtract(
    Point.fromBytes(publicKey).multiplyUnsafe(k),
  )
  // Comparing the encoded R rejects a non-canonical one.
  return !expected.isSmallOrder() && expected.toBytes().every((byte, i) => byte === r[i])
}

function littleEndian(bytes: Uint8Array): bigint {
  let number = 0n
  for (let i = bytes.length - 1; i >= 0; i--) number = (number << 8n) | BigInt(bytes[i] as number)
  return number
}
