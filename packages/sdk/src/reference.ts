import { decodeKey, type Naming, parseDidOrTail } from '@countersign/protocol'
import { CountersignError } from './errors.ts'

/** An agent as a caller names it. */
export interface Reference {
  /** The DID that an answer has to be about, or null where a key was given, which may have several. */
  readonly did: string | null
  /** Percent-encoded, as it goes into a path. */
  readonly segment: string
}

/**
 * Reads a DID, its 24-character tail, or a public key in base64.
 * @throws CountersignError INVALID_ARGUMENT for anything else
 */
export function referenceTo(naming: Naming, agent: string): Reference {
  const tail = parseDidOrTail(naming, agent)
  if (tail !== null) {
    const did = `${naming.didPrefix}${tail}`
    return { did, segment: encodeURIComponent(did) }
  }
  if (decodeKey(agent) !== null) return { did: null, segment: encodeURIComponent(agent) }
  throw new CountersignError(
    'INVALID_ARGUMENT',
    `An agent is named by its DID (${naming.didPrefix} and 24 base58 characters), by those 24 characters alone, or by its public key in base64.`,
  )
}
