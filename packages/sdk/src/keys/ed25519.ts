import { platformEd25519 } from './platform-ed25519.ts'
import type { Signer } from './signer.ts'

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
 * A signer that uses the platform's Ed25519, which all current ones have, else @noble/curves, which it loads then.
 * @param seed 32 bytes: the private key of RFC 8032
 */
export async function signerOfSeed(seed: Uint8Array): Promise<Signer> {
  return asTrusted(await (await platformEd25519()).signerOf(seed))
}

/** 32 bytes from the system's random number generator. */
export function newSeed(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32))
}
