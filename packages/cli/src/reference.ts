import { decodeKey, TAIL_PATTERN } from '@countersign/protocol'
import { namingOfDid } from './deployment.ts'
import { Failure } from './failure.ts'

/** How the user names an agent. */
export interface Reference {
  readonly kind: 'did' | 'tail' | 'key'
  /** As it goes, percent-encoded, into a path. */
  readonly text: string
}

/** `did:web:{host}:agent:{did}` */
const DID_WEB = /^did:web:.+?:agent:([^:]+:agent:[^:]+)$/

/**
 * Reads what the user has typed: a DID of any deployment, a bare tail, or a public key.
 * @throws Failure USAGE
 */
export function parseReference(text: string): Reference {
  if (namingOfDid(text)?.didPattern.test(text)) return { kind: 'did', text }
  if (TAIL_PATTERN.test(text)) return { kind: 'tail', text }
  if (decodeKey(text) !== null) return { kind: 'key', text }
  throw new Failure(
    'USAGE',
    'Name an agent by its DID (a short name, :agent: and 24 base58 characters), by those 24 characters alone, or by its public key (32 bytes in padded standard base64).',
  )
}

/** The DID within a did:web, or null where the text is no did:web of an agent. */
export function didOfDidWeb(text: string): string | null {
  const did = DID_WEB.exec(text)?.[1]
  return did !== undefined && namingOfDid(did)?.didPattern.test(did) ? did : null
}

/** Whether an answer about `did` is one to a question about the reference. A key alone does not tell. */
export function refersTo({ kind, text }: Reference, did: string): boolean {
  if (kind === 'key') return true
  return kind === 'did' ? did === text : did.endsWith(`:${text}`)
}
