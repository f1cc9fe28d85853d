/**
 * Whether a signature is one, without asking anyone, as strictly as the service (libsodium) takes it: S below L, R and
 * the key canonical and not of small order, the equation without the cofactor. What platforms and libraries accept
 * beyond that differs from one to the next, so this is computed by @noble/curves everywhere, which is loaded then.
 * @param publicKey 32 bytes; under a key that could not be certified no signature counts
 */
export async function isSignature(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const { isStrictSignature } = await import('./strict-ed25519.ts')
  return isStrictSignature(publicKey, message, signature)
}
