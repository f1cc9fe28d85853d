import type { SignatureResult } from '@countersign/protocol'
import type { Caller, LookupResult } from './decision/decide.ts'
import type { AgentData, Decision, RequestSignature } from './decision/decision.ts'

export type NamedCaller = Extract<Caller, { kind: 'named' }>
/** A caller with a session, and the number of the key with which it signed in. */
export interface SessionCaller extends NamedCaller {
  readonly keySequence: number
}
export type AnonymousKind = 'none' | 'unreadable' | 'conflict'
export type AnonymousCaller = Extract<Caller, { kind: AnonymousKind }>

/** Of a signed request at a gateway without audiences. */
export const NO_AUDIENCE: RequestSignature = {
  verdict: 'unverified',
  reason: 'no-audience',
  keyid: null,
  signatureAgent: null,
  profile: null,
  replay: 'unchecked',
  digest: 'unchecked',
  contentDigest: null,
}

/** For the decision. The digest counts only with the signature. */
export function signatureOf(result: SignatureResult): RequestSignature {
  const { verdict, reason, keyid, signatureAgent, profile, replay, digest } = result
  const contentDigest = verdict === 'verified' ? result.contentDigest : null
  const url = signatureAgent?.url ?? null
  return { verdict, reason, keyid, signatureAgent: url, profile, replay, digest, contentDigest }
}

/** Whose rate limit a request takes from; null: its address. */
export function limitKey({ did, status, proofOfPossession, directory }: Decision): string | null {
  if (directory !== null) return `directory ${directory}`
  if (did === null || status === null) return null
  // Separate, so that a caller without proof cannot use up the limit of the agent that it names.
  return `${proofOfPossession ? 'proven' : 'named'} ${did}`
}

/** Whether a session was issued for a later key than the cache has. */
export function isBefore(agent: AgentData | null, caller: NamedCaller | SessionCaller): boolean {
  return 'keySequence' in caller && (agent?.keySequence ?? 0) < caller.keySequence
}

/** Whether the agent of a session has another key now. */
export function hasEnded(caller: NamedCaller | SessionCaller, result: LookupResult): boolean {
  if (!('keySequence' in caller)) return false
  const current = result.kind === 'answered' ? result.agent : (result.last?.agent ?? null)
  if (current?.keySequence === undefined) return false
  // While the service is out of reach, an answer from before the session says nothing about it.
  if (current.keySequence < caller.keySequence) return result.kind === 'answered'
  return current.keySequence > caller.keySequence
}

/** Whether an authority, such as `shop.example:443`, is that of an origin. */
export function isAt(authority: string, origin: string): boolean {
  const { protocol } = new URL(origin)
  const url = `${protocol}//${authority}`
  return URL.canParse(url) && new URL(url).origin === origin
}

/** RFC 6750 section 2.1. */
export function bearerToken(authorization: string | null): string | null {
  return (authorization && /^Bearer +(\S+)$/i.exec(authorization)?.[1]) || null
}

/** Null if the framework cannot determine it. */
export function addressOf({ address }: { readonly address: () => string | null }): string | null {
  try {
    return address()
  } catch {
    return null
  }
}
