import { BASE58_CLASS, randomBase58 } from './base58.ts'
import type { Naming } from './naming.ts'

/** The last part of a DID: 24 base58 characters, unique within a deployment (contract 2.1). */
export type Tail = string & { readonly __brand: 'Tail' }
/** `svc:agent:` and a tail; `svc` is the deployment's short name. */
export type Did = string & { readonly __brand: 'Did' }

export const TAIL_LENGTH = 24
export const TAIL_PATTERN = new RegExp(`^${BASE58_CLASS}{${TAIL_LENGTH}}$`)

/** A random tail with 58^24 possible values. @param randomBytes a cryptographically secure source of `count` bytes */
export function randomTail(randomBytes: (count: number) => Uint8Array): Tail {
  return randomBase58(TAIL_LENGTH, randomBytes) as Tail
}

/** The DID of a tail under a deployment's short name. */
export function didOf(naming: Naming, tail: Tail): Did {
  return `${naming.didPrefix}${tail}` as Did
}

/** The tail of a full DID or of a bare tail, or null if the text is neither. */
export function parseDidOrTail(naming: Naming, text: string): Tail | null {
  const tail = text.startsWith(naming.didPrefix) ? text.slice(naming.didPrefix.length) : text
  return TAIL_PATTERN.test(tail) ? (tail as Tail) : null
}

/**
 * The did:web form of an agent's DID (contract 4.7): `did:web:{hostname}:agent:{svcDid}`.
 * @param host the host name, with its port if it has one; the colon is percent-encoded, as did:web requires
 */
export function didWebOf(host: string, did: Did): string {
  return `did:web:${host.replaceAll(':', '%3A')}:agent:${did}`
}
