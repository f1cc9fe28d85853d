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
  const { isStrictSignature } = await import('./strict-ed25519.ts')
  return isStrictSignature(publicKey, message, signature)
}
