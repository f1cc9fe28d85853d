import { CountersignError } from '../errors.ts'
import { isTrusted } from './ed25519.ts'
import type { Signer } from './signer.ts'
import { isSignature } from './verify-signature.ts'

/**
 * The signer, whose first signature is verified unless this package made it: a KMS with another algorithm is found here, instead of
 * as INVALID_SIGNATURE at the service.
 * @throws CountersignError UNUSABLE_KEY if the public key is not 32 bytes; `sign`: if the signature does not match it
 */
export function checkedSigner(signer: Signer): Signer {
  const { publicKey } = signer
  if (publicKey.length !== 32) {
    throw new CountersignError('UNUSABLE_KEY', 'The public key of the signer must be 32 bytes.')
  }
  if (isTrusted(signer)) return signer
  let check: Promise<void> | null = null
  return {
    publicKey,
    sign: async (message) => {
      const signature = await signer.sign(message)
      check ??= assertSignature(publicKey, message, signature)
      await check
      return signature
    },
  }
}

async function assertSignature(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<void> {
  if (await isSignature(publicKey, message, signature)) return
  const wrong = "The signer's signature is not one by its public key: pure Ed25519 is needed."
  throw new CountersignError('UNUSABLE_KEY', wrong)
}
