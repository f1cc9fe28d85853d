import { didOf, type Naming, parseDidOrTail, type UnverifiedResult } from '@countersign/protocol'
import { BoundedMap } from './bounded-map.ts'
import type { Caller, LookupResult } from './decision/decide.ts'
import type { AgentData } from './decision/decision.ts'
import type { SessionReader } from './options.ts'
import type { ReadOptions } from './read-options.ts'
import type { GatewayRequest } from './request/gateway-request.ts'

export type NamedCaller = Extract<Caller, { kind: 'named' }>
/** A caller with a session, and the number of the key with which it signed in. */
export interface SessionCaller extends NamedCaller {
  readonly keySequence: number
}
export type AnonymousKind = 'none' | 'unreadable' | 'conflict'
export type AnonymousCaller = Extract<Caller, { kind: AnonymousKind }>

export const ANONYMOUS: AnonymousCaller = { kind: 'none' }
const UNREADABLE: AnonymousCaller = { kind: 'unreadable' }
export const CONFLICT: AnonymousCaller = { kind: 'conflict' }
export const SESSION_ENDED: Caller = { kind: 'session-ended' }
export const DELEGATION_UNPROVEN: Caller = { kind: 'delegation-unproven' }

const MAX_REMEMBERED = 1_000

/** Reads identification headers, and remembers the last ones. */
export class Identifications {
  readonly #naming: Naming
  readonly #callers = new BoundedMap<string, NamedCaller>(MAX_REMEMBERED)

  constructor(naming: Naming) {
    this.#naming = naming
  }

  /** @returns null if the text names no agent */
  parse(text: string): NamedCaller | null {
    const known = this.#callers.get(text)
    if (known !== undefined) return known
    const tail = parseDidOrTail(this.#naming, text)
    if (tail === null) return null
    const named = { kind: 'named', did: didOf(this.#naming, tail), proof: 'none' } as const
    this.#callers.set(text, named)
    return named
  }

  /** The caller of a request without a signature that counts. */
  callerOf(
    identification: string | null,
    session: SessionCaller | null,
  ): NamedCaller | SessionCaller | AnonymousCaller {
    if (identification === null) return session ?? ANONYMOUS
    const named = this.parse(identification)
    if (named === null) return UNREADABLE
    if (session === null) return named
    return session.did === named.did ? session : CONFLICT
  }

  /**
   * Whether the identification header or the session names another agent than the one that signed. The verifier compares the header for
   * agents of the service; those of other issuers may have another identification header.
   */
  nameAnother(
    signer: Caller,
    identification: string | null,
    session: SessionCaller | null,
  ): boolean {
    const did = signer.kind === 'named' ? signer.did : null
    if (session !== null && session.did !== did) return true
    if (identification === null || did === null || identification === did) return false
    return this.parse(identification)?.did !== did
  }
}

/** The caller of a request with a session. Null without a bearer token; resolves to null if it is no valid session. */
export function sessionOf(
  request: GatewayRequest,
  sessions: SessionReader,
  { audiences }: Pick<ReadOptions, 'audiences'>,
): Promise<SessionCaller | null> | null {
  const token = bearerToken(request.authorization)
  if (token === null) return null
  return sessions.session(token).then((session) => {
    if (session === null) return null
    const { did, keySequence = 1, audience } = session
    // One of the sites behind could use the sessions that it receives at the others.
    const isElsewhere =
      audiences.length > 1 && audience !== undefined && !isAt(request.raw().authority, audience)
    return isElsewhere ? null : { kind: 'named', did, proof: 'session', keySequence }
  })
}

/** The caller of a request whose signature does not count. */
export function refusedCaller({ reason, status }: UnverifiedResult): Caller {
  if (reason === 'delegation-refused' || reason === 'delegation-limit') return { kind: reason }
  return { kind: 'signature-invalid', status: status === 400 || status === 403 ? status : 401 }
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
function isAt(authority: string, origin: string): boolean {
  const { protocol } = new URL(origin)
  const url = `${protocol}//${authority}`
  return URL.canParse(url) && new URL(url).origin === origin
}

/** RFC 6750 section 2.1. */
function bearerToken(authorization: string | null): string | null {
  return (authorization && /^Bearer +(\S+)$/i.exec(authorization)?.[1]) || null
}
