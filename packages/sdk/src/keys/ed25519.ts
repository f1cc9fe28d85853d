import { pkcs8Of } from './pkcs8.ts'
import type { Signer } from './signer.ts'

const ALGORITHM = 'Ed25519'

/** Signers made by this package. Others must prove that their signatures match their public key. */
const trusted = new WeakSet<Signer>()

/** Marks a signer as made by this package. */
export function asTrusted<T extends Signer>(signer: T): T {
  trusted.add(signer)
  return signer
}

export function isTrusted(signer: Signer): boolean {
  return trusted.has(signer)
}

/**
 * A signer that uses WebCrypto if the platform supports Ed25519, as all current ones do, else @noble/curves, which it
 * loads then. WebCrypto's key is not extractable.
 * @param seed 32 bytes: the private key of RFC 8032
 */
export async function signerOfSeed(seed: Uint8Array): Promise<Signer> {
  return asTrusted((await platformSigner(seed)) ?? (await nobleSigner(seed)))
}

/** 32 bytes from the system's random number generator. */
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

/** @returns null if the platform has no Ed25519, or no WebCrypto, as on a page without https */
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
