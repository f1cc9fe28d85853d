import {
  decodeKey,
  type Naming,
  namingOfDid,
  parseDidOrTail,
  referenceKind,
} from '@countersign/protocol'
import { CountersignError } from './errors.ts'
import { checkedAnswer } from './keys/signed-challenge.ts'
import { originOf } from './origin.ts'
import type { VerifyRequest } from './registry-requests.ts'
import { type Read, UnexpectedShape } from './responses/read-schema.ts'
import type { DidDocument, Resolution } from './responses/types.ts'

/** An agent as a caller names it. */
export interface Reference {
  /** Percent-encoded, as it goes into a path. */
  readonly segment: string
  /** Whether a response with this DID is about the agent. A public key may have several DIDs, so it matches all. */
  matches(did: string): boolean
}

/**
 * Reads a DID, its 24-character tail, or a public key in padded standard base64.
 * @param naming of the deployment; null accepts DIDs of any short name
 * @throws CountersignError INVALID_ARGUMENT for any other text
 */
export function referenceTo(naming: Naming | null, agent: string): Reference {
  if (typeof agent !== 'string') {
    const got = agent === null ? 'null' : typeof agent
    throw invalid(naming?.didPrefix ?? 'a short name, :agent:', ` This is ${got}.`)
  }
  if (naming === null) return referenceToAny(agent)
  const tail = parseDidOrTail(naming, agent)
  if (tail !== null) {
    const did = `${naming.didPrefix}${tail}`
    return { segment: encodeURIComponent(did), matches: (other) => other === did }
  }
  if (decodeKey(agent) === null) throw invalid(naming.didPrefix)
  return { segment: encodeURIComponent(agent), matches: () => true }
}

function referenceToAny(agent: string): Reference {
  const kind = referenceKind(agent)
  if (kind === null) throw invalid('a short name, :agent:')
  return {
    segment: encodeURIComponent(agent),
    matches: (did) =>
      kind === 'key' || (kind === 'did' ? did === agent : did.endsWith(`:${agent}`)),
  }
}

/** `svc:agent:…` out of `did:web:{host}:agent:svc:agent:…` (contract 4.7). */
export function didInDidWeb({ id }: { readonly id: string }): string {
  return /:agent:([^:]+:agent:[^:]+)$/.exec(id)?.[1] ?? ''
}

/** What a DID document says of its agent. */
export function resolutionOf(document: DidDocument): Resolution {
  // That of a suspended agent still names the service at which its status can be looked up.
  return { document, revoked: document.service.length === 0 }
}

/** The body of `Registry.verify`. @throws CountersignError INVALID_ARGUMENT */
export function answerToVerify(naming: Naming | null, request: VerifyRequest) {
  const { publicKey, challenge, signature } = checkedAnswer(request)
  const audience =
    request.audience === undefined ? {} : { audience: originOf(request.audience, 'The audience') }
  return { publicKey, challenge, signature, ...audience, ...didFieldOf(naming, request.did) }
}

/** The optional field of a request that names a DID, as the deployment spells it. */
function didFieldOf(known: Naming | null, did = ''): Record<string, string> {
  const naming = known ?? namingOfDid(did)
  const tail = naming && parseDidOrTail(naming, did)
  return naming && tail ? { [naming.didField]: `${naming.didPrefix}${tail}` } : {}
}

/** The DID that a refused claim would have asked for, if the key has it already; else null. */
export function certifiedIn(
  naming: Naming | null,
  { code, location }: CountersignError,
): string | null {
  if (code !== 'KEY_ALREADY_CLAIMED' && code !== 'TOKEN_EXPIRED') return null
  const did = /^\/api\/agents\/([^/?#]+)$/.exec(location ?? '')?.[1] ?? ''
  return Object.values(didFieldOf(naming, did))[0] ?? null
}

/** Accepts a response only if it is about the agent that was asked for. */
export function about<T>(
  reference: Reference,
  read: Read<T>,
  didOf: (value: T) => string,
): Read<T> {
  return (body) => {
    const value = read(body)
    if (!reference.matches(didOf(value))) throw new UnexpectedShape('answers about another agent')
    return value
  }
}

function invalid(didPrefix: string, got = ''): CountersignError {
  return new CountersignError(
    'INVALID_ARGUMENT',
    `Give an agent as a DID (${didPrefix} and 24 base58 characters), the last 24 characters of a DID, or a public key in base64.${got}`,
  )
}
