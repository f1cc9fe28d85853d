import { parseDidOrTail, TAIL_PATTERN, type Tail } from './did.ts'
import { decodeKey } from './encoding.ts'
import { CodedError } from './errors.ts'
import { type Naming, namingOfDid } from './naming.ts'

/** An agent as a request names it: by DID or tail, or by public key (32 bytes). */
export type AgentReference =
  | { readonly kind: 'tail'; readonly tail: Tail }
  | { readonly kind: 'key'; readonly publicKey: Uint8Array }

/**
 * Parses a path parameter that names an agent: a full DID, a bare tail, or a base64 public key
 * (contract 2.1, 4.1, 4.2), already percent-decoded, once.
 * @throws CodedError VALIDATION_ERROR for anything else
 */
export function parseAgentReference(naming: Naming, text: string): AgentReference {
  const tail = parseDidOrTail(naming, text)
  if (tail !== null) return { kind: 'tail', tail }
  const publicKey = decodeKey(text)
  if (publicKey !== null) return { kind: 'key', publicKey }
  throw new CodedError(
    'VALIDATION_ERROR',
    `An agent is named by its DID (${naming.didPrefix} and 24 base58 characters), by those 24 characters alone, or by its public key (32 bytes in padded standard base64, percent-encoded in a URL).`,
  )
}

/**
 * Parses the identification header (contract section 5): a DID or a bare tail. The header is self-asserted.
 * @throws CodedError VALIDATION_ERROR for anything else, such as two headers joined by a comma
 */
export function parseIdentificationHeader(naming: Naming, value: string): Tail {
  const tail = parseDidOrTail(naming, value)
  if (tail !== null) return tail
  throw new CodedError(
    'VALIDATION_ERROR',
    `The header ${naming.idHeader} carries one DID (${naming.didPrefix} and 24 base58 characters) or its 24 characters alone.`,
  )
}

/**
 * Which form a reference to an agent of any deployment has: a full DID under whatever short name, a bare tail
 * (24 base58 characters), or a public key (32 bytes in padded standard base64).
 * @returns null for any other text
 */
export function referenceKind(text: string): 'did' | 'tail' | 'key' | null {
  if (namingOfDid(text)?.didPattern.test(text)) return 'did'
  if (TAIL_PATTERN.test(text)) return 'tail'
  return decodeKey(text) === null ? null : 'key'
}
