import { keyEncodingFault } from '@countersign/protocol'
import { platformEd25519 } from './platform-ed25519.ts'
import type { Ed25519, VerifyWithKey } from './signer.ts'

/**
 * Verifies an Ed25519 signature.
 * @param publicKey 32 bytes
 * @param signature 64 bytes
 * @returns no promise where there is nothing to wait for: in Node, for a key that was used before
 */
export type VerifySignature = (
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
) => boolean | Promise<boolean>

/** Keys that `isSignature` remembers: of issuers, logs and witnesses, and of the last agents. */
const SHARED_KEYS = 1_000

/**
 * Verifies an Ed25519 signature as strictly as the service (libsodium) does: S below L, R and the key canonical and not of
 * small order, the equation without the cofactor. What platforms differ in is checked here, and the rest by the platform;
 * by @noble/curves where the platform has no Ed25519.
 * @param publicKey 32 bytes; false for a key that cannot be certified
 * @param signature 64 bytes
 */
export async function isSignature(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  shared ??= signatureVerifier(SHARED_KEYS)
  return shared(publicKey, message, signature)
}

let shared: VerifySignature | undefined

/**
 * Creates a function that does the same as `isSignature` with a memory of its own for the keys that it has found good, by their
 * bytes. The check of a key takes longer than a verification, so it is for callers that see the same keys again, such as gateways.
 * @param maxKeys how many it remembers. The oldest are forgotten first. Default: 10,000
 * @param areDelegated the keys are those of chains, of which an agent can make any number: only their encoding is checked. Default: false
 */
export function signatureVerifier(maxKeys = 10_000, areDelegated = false): VerifySignature {
  return verifierBy(platformEd25519, maxKeys, areDelegated)
}

/** @param choose what verifies, asked for each new key */
export function verifierBy(
  choose: () => Promise<Ed25519>,
  maxKeys: number,
  areDelegated = false,
): VerifySignature {
  const keys = new Map<string, VerifyWithKey>()
  /** Null for a key that cannot be certified. */
  const learn = async (publicKey: Uint8Array, bytes: string): Promise<VerifyWithKey | null> => {
    if (!(await isGoodKey(publicKey, areDelegated))) return null
    const verify = await (await choose()).verifierOf(publicKey)
    keys.set(bytes, verify)
    if (keys.size > maxKeys) keys.delete(keys.keys().next().value as string)
    return verify
  }
  return (publicKey, message, signature) => {
    if (publicKey.length !== 32 || !isStrictForm(signature)) return false
    // A key that is not of prime order gives other points of small order than the identity, too.
    if (areDelegated && keyEncodingFault(signature.subarray(0, 32)) !== null) return false
    // Each byte is one character.
    const bytes = String.fromCharCode.apply(null, publicKey as unknown as number[])
    const known = keys.get(bytes)
    if (known !== undefined) return known(message, signature)
    const learned = learn(Uint8Array.from(publicKey), bytes)
    return learned.then((verify) => verify?.(message, signature) ?? false)
  }
}

async function isGoodKey(publicKey: Uint8Array, isDelegated: boolean): Promise<boolean> {
  if (isDelegated) return keyEncodingFault(publicKey) === null
  // Loaded on demand: it has the arithmetic of the curve.
  const { isStrictKey } = await import('./portable-ed25519.ts')
  return isStrictKey(publicKey)
}

/** The order of the base point (RFC 8032 section 5.1), the most significant byte first. */
const L = [0x10, ...Array<number>(15).fill(0)].concat([
  ...[0x14, 0xde, 0xf9, 0xde, 0xa2, 0xf7, 0x9c, 0xd6],
  ...[0x58, 0x12, 0x63, 0x1a, 0x5c, 0xf5, 0xd3, 0xed],
])

/**
 * Whether S is below L, and R is not the identity, the only point of small order that the equation without the cofactor can give for
 * a key of prime order. That equation compares the bytes of R, which rejects others that are not canonical.
 */
function isStrictForm(signature: Uint8Array): boolean {
  if (signature.length !== 64) return false
  if (signature[0] === 1 && signature.subarray(1, 32).every((byte) => byte === 0)) return false
  for (let i = 0; i < 32; i++) {
    const byte = signature[63 - i] as number
    const limit = L[i] as number
    if (byte !== limit) return byte < limit
  }
  return false
}
