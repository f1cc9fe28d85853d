import { asOwn } from './own-signers.ts'
import { pkcs8Of } from './pkcs8.ts'
import type { Signer } from './signer.ts'

const ALGORITHM = 'Ed25519'

/**
 * A key of the platform where that knows Ed25519 (every current one), else of @noble/curves, which is loaded then.
 * The platform's key cannot be read back out.
 * @param seed 32 bytes: the private key of RFC 8032
 */
export async function signerOfSeed(seed: Uint8Array): Promise<Signer> {
  return asOwn((await platformSigner(seed)) ?? (await nobleSigner(seed)))
}

/** 32 bytes out of the system's randomness. */
export function newSeed(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32))
}

async function platformSigner(seed: Uint8Array): Promise<Signer | null> {
  const known = await importKey(seed, true)
  if (known === null) return null
  const { x } = await crypto.subtle.exportKey('jwk', known)
  const key = await importKey(seed, false)
  if (key === null || x === undefined) return null
  return {
    publicKey: Uint8Array.from(atob(x.replaceAll('-', '+').replaceAll('_', '/')), (each) =>
      each.charCodeAt(0),
    ),
    sign: async (message) =>
      new Uint8Array(await crypto.subtle.sign(ALGORITHM, key, message as Uint8Array<ArrayBuffer>)),
  }
}

/** @returns null where the platform has no Ed25519, or no WebCrypto at all, as on a page without https */
async function importKey(seed: Uint8Array, extractable: boolean) {
  const der = pkcs8Of(seed) as Uint8Array<ArrayBuffer>
  try {
    return await crypto.subtle.importKey('pkcs8', der, ALGORITHM, extractable, ['sign'])
  } catch {
    return null
  }
}

async function nobleSigner(seed: Uint8Array): Promise<Signer> {
  const { ed25519 } = await import('@noble/curves/ed25519.js')
  const secret = seed.slice()
  return {
    publicKey: ed25519.getPublicKey(secret),
    sign: async (message) => ed25519.sign(message, secret),
  }
}
