import type { Signer } from './signer.ts'

/** Signers that were made here, and need no proof that they sign by their key. */
const own = new WeakSet<Signer>()

export function asOwn<T extends Signer>(signer: T): T {
  own.add(signer)
  return signer
}

export function isOwn(signer: Signer): boolean {
  return own.has(signer)
}
