import { BASE58_CLASS, randomBase58 } from './base58.ts'
import type { Naming } from './naming.ts'

/** The 24 base58 characters that tell one agent of a deployment from another (contract 2.1). */
export type Tail = string & { readonly __brand: 'Tail' }
/** `svc:agent:` and a tail, under the deployment's own short name. */
export type Did = string & { readonly __brand: 'Did' }

export const TAIL_LENGTH = 24
export const TAIL_PATTERN = new RegExp(`^${BASE58_CLASS}{${TAIL_LENGTH}}$`)

/** A tail that no one has drawn before, but for a chance of 1 in 58^24. */
export function randomTail(randomBytes: (count: number) => Uint8Array): Tail {
  return randomBase58(TAIL_LENGTH, randomBytes) as Tail
}

/** The DID of a tail under a deployment's short name. */
export function didOf(naming: Naming, tail: Tail): Did {
  return `${naming.didPrefix}${tail}` as Did
}

/** The tail of a full DID or of a bare tail, or null where the text is neither. */
export function parseDidOrTail(naming: Naming, text: string): Tail | null {
  const tail = text.startsWith(naming.didPrefix) ? text.slice(naming.didPrefix.length) : text
  return TAIL_PATTERN.test(tail) ? (tail as Tail) : null
}

/**
 * The did:web form of an agent's DID (contract 4.7): `did:web:{hostname}:agent:{svcDid}`.
 * @param host host name, with its port where it has one: the colon is percent-encoded, as did:web asks
 */
export function didWebOf(host: string, did: Did): string {
  return `did:web:${host.replaceAll(':', '%3A')}:agent:${did}`
}
