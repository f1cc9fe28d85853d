import { keyFault } from '@countersign/protocol'
import { ed25519 } from '@noble/curves/ed25519.js'
import { sha512 } from '@noble/hashes/sha2.js'
import type { Ed25519 } from './signer.ts'

/* In a module of its own, so that the arithmetic of the curve is loaded on demand. */

const { Point } = ed25519
const L = Point.Fn.ORDER

/** Whether a key can be certified, which takes nearly as long as a verification in JavaScript. */
export function isStrictKey(publicKey: Uint8Array): boolean {
  return publicKey.length === 32 && keyFault(publicKey) === null
}

/** Ed25519 by @noble/curves, for platforms without one of their own. */
export const portableEd25519: Ed25519 = {
  async verifierOf(publicKey) {
    const point = Point.fromBytes(publicKey)
    return (message, signature) => {
      const r = signature.subarray(0, 32)
      const s = littleEndian(signature.subarray(32))
      const hash = sha512.create().update(r).update(publicKey).update(message).digest()
      const k = littleEndian(hash) % L
      const expected = Point.BASE.multiplyUnsafe(s).subtract(point.multiplyUnsafe(k))
      return expected.toBytes().every((byte, i) => byte === r[i])
    }
  },
  async signerOf(seed) {
    const secret = seed.slice()
    return {
      publicKey: ed25519.getPublicKey(secret),
      sign: async (message) => ed25519.sign(message, secret),
    }
  },
}

function littleEndian(bytes: Uint8Array): bigint {
  let number = 0n
  for (let i = bytes.length - 1; i >= 0; i--) number = (number << 8n) | BigInt(bytes[i] as number)
  return number
}
