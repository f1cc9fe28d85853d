/** Verifies an Ed25519 signature. @param publicKey 32 bytes @param signature 64 bytes */
export type VerifySignature = (
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
) => Promise<boolean>

type Strict = typeof import('./strict-ed25519.ts')
/** Loaded on demand, once: even an import of a module that is loaded takes time. */
let strict: Strict | undefined

/**
 * Verifies an Ed25519 signature as strictly as the service (libsodium) does: S below L, R and the key canonical and not of
 * small order, the equation without the cofactor. Platforms differ in what else they accept, so @noble/curves does it
 * everywhere, loaded on demand.
 * @param publicKey 32 bytes; false for a key that cannot be certified
 * @param signature 64 bytes
 */
export async function isSignature(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  strict ??= await import('./strict-ed25519.ts')
  const key = strict.strictKeyOf(publicKey)
  return key !== null && strict.isStrictSignature(key, message, signature)
}

/**
 * Creates a function that does the same as `isSignature` and remembers the keys that it has found good, by their bytes. The check of
 * a key is nearly half of the work, so it is for callers that see the same keys again, such as gateways.
 * @param maxKeys how many it remembers, about 700 bytes each. The oldest are forgotten first. Default: 10,000
 */
export function signatureVerifier(maxKeys = 10_000): VerifySignature {
  const keys = new Map<string, NonNullable<ReturnType<Strict['strictKeyOf']>>>()
  return async (publicKey, message, signature) => {
    if (publicKey.length !== 32) return false
    strict ??= await import('./strict-ed25519.ts')
    // Each byte is one character.
    const bytes = String.fromCharCode(...publicKey)
    const known = keys.get(bytes)
    const key = known ?? strict.strictKeyOf(publicKey)
    if (key === null) return false
    if (known === undefined) {
      keys.set(bytes, key)
      if (keys.size > maxKeys) keys.delete(keys.keys().next().value as string)
    }
    return strict.isStrictSignature(key, message, signature)
  }
}
