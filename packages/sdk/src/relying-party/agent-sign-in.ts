import type { NonceStore } from '@countersign/protocol/signed-request-types'
import { CountersignError } from '../errors.ts'
import type { CallOptions } from '../options.ts'
import { originOf } from '../origin.ts'
import type { Registry } from '../registry.ts'
import type { VerifyRequest } from '../registry-requests.ts'
import type { Verification } from '../responses/types.ts'
import type { AgentSession } from '../sign-in.ts'
import { storedNonces } from './challenge-nonces.ts'
import { type ChallengeStore, memoryChallengeStore } from './challenge-store.ts'
import { CHALLENGE_LIFETIME_MS, challengesFrom } from './challenges.ts'
import { type Macs, macsOf } from './hmac.ts'
import { recordKeySequence } from './key-sequences.ts'
import { type SessionClaims, sessionTokens } from './session-token.ts'
import { answerSignIn } from './sign-in-endpoint.ts'
import { signedNonces } from './signed-nonces.ts'

/** Options of `agentSignIn`. */
export interface AgentSignInOptions {
  /** The service that certifies the agents. */
  readonly registry: Registry
  /** The origin at which agents reach you, such as `https://shop.example`. Never take it from a request. */
  readonly audience: string | URL
  /**
   * The secret that signs your sessions: at least 32 bytes. Of several, the first one signs and all are accepted, so that a
   * secret can be rotated without ending sessions.
   */
  readonly secret: string | Uint8Array | readonly (string | Uint8Array)[]
  /** How long a session lasts, in seconds. Default: 900. */
  readonly sessionSeconds?: number | undefined
  /**
   * Which of the `verified` agents to admit (the certificate is active and the key signed).
   * Default: all. Only agents with a verified owner: `({ identityLevel }) => identityLevel !== 'unverified'`
   */
  readonly admit?: ((verification: Verification) => boolean | Promise<boolean>) | undefined
  /** The store of unanswered challenges. Default: the memory of this process. */
  readonly store?: ChallengeStore | undefined
  /**
   * Instead of `store`: the store of used challenges. A challenge then carries a MAC made with the secret and uses no memory until an
   * agent has signed it, and every process with the secret accepts the answer: once each, unless they share this store.
   */
  readonly nonces?: NonceStore | undefined
  /** The clock of sessions, in milliseconds since 1970. Default: the system's. */
  readonly now?: (() => number) | undefined
}

/** Options of `AgentSignIn.session`. */
export interface SessionOptions extends Pick<CallOptions, 'signal' | 'staleIfErrorMs'> {
  /**
   * Ask the service whether the certificate is still active and the agent has the same key, so that the session ends at once with
   * either. Default: false: it ends if this process has seen a later key of the agent.
   */
  readonly live?: boolean | undefined
}

/** "Sign in as an agent", for a site. */
export interface AgentSignIn {
  /**
   * Handles requests to the sign-in endpoint, such as `/agent-sign-in`: GET issues a challenge, POST takes the answer and
   * returns a session. It never throws.
   */
  handle(request: Request): Promise<Response>
  /** Issues a challenge, if you serve the endpoint yourself. */
  begin(): Promise<string>
  /**
   * Checks the answer to a challenge and creates a session.
   * @throws CountersignError CHALLENGE_SPENT, INVALID_SIGNATURE, NOT_ADMITTED; others of `Registry.verify`
   */
  complete(answer: VerifyRequest, options?: Pick<CallOptions, 'signal'>): Promise<AgentSession>
  /**
   * Reads the session of a request (`Authorization: Bearer …`) or of a token.
   * @returns null if there is none, it was not issued here, it has expired or the agent has a later key; with `live` also if the
   *   certificate is not active
   * @throws CountersignError only with `live`: those of `Registry.agent` if the service is unreachable
   */
  session(from: Request | Headers | string, options?: SessionOptions): Promise<SessionClaims | null>
}

const MAX_SESSION_SECONDS = 24 * 60 * 60

/**
 * Lets agents sign in at a site. They prove their key with a challenge for this site and get a short-lived session of the site's
 * own, which needs no further request to the service.
 * @throws CountersignError INVALID_ARGUMENT
 */
export function agentSignIn(options: AgentSignInOptions): AgentSignIn {
  const { registry, secret, sessionSeconds = 900, admit = () => true, now = Date.now } = options
  if (!(sessionSeconds > 0 && sessionSeconds <= MAX_SESSION_SECONDS)) {
    throw new CountersignError('INVALID_ARGUMENT', 'sessionSeconds must be from 1 to 86400.')
  }
  const audience = originOf(options.audience, 'The audience')
  const macs = macsOf(Array.isArray(secret) ? secret : [secret])
  const challenges = challengesFrom(noncesOf(options, audience, macs, now), registry, audience)
  const tokens = sessionTokens(audience, macs)

  const complete: AgentSignIn['complete'] = async (answer, callOptions) => {
    const verification = await checked(challenges.check(answer, callOptions))
    if (!verification.verified || !(await admit(verification))) {
      throw notAdmitted('This site does not admit this agent.')
    }
    const { identityLevel } = verification
    const { did, publicKey, keySequence } = await registry.agent(verification.agent.did, {
      ...callOptions,
      ...FRESH,
    })
    const isCurrent = recordKeySequence(registry, did, keySequence)
    if (publicKey !== answer.publicKey || !isCurrent) {
      throw notAdmitted('The key of this agent has changed.')
    }
    const issuedAt = now()
    const expiresAt = Math.floor(issuedAt / 1000 + sessionSeconds) * 1000
    const token = await tokens.issue({ did, identityLevel, keySequence, issuedAt, expiresAt })
    return { did, token, expiresAt: new Date(expiresAt).toISOString() }
  }

  const begin = () => challenges.issue()
  return {
    begin,
    complete,
    handle: (request) => answerSignIn(request, { begin, complete }),
    async session(from, { live = false, signal, staleIfErrorMs } = {}) {
      const token = tokenIn(from)
      const claims = token === null ? null : await tokens.read(token, now())
      if (claims === null) return null
      if (!recordKeySequence(registry, claims.did, claims.keySequence)) return null
      if (!live) return claims
      const isActive = await hasKey(registry, claims, { signal, staleIfErrorMs, fresh: true })
      return isActive ? claims : null
    },
  }
}

const FRESH = { fresh: true, staleIfErrorMs: 0 } as const

function noncesOf(
  { store, nonces }: AgentSignInOptions,
  audience: string,
  macs: Macs,
  now: () => number,
) {
  const lifetimeMs = CHALLENGE_LIFETIME_MS
  if (nonces === undefined) return storedNonces(store ?? memoryChallengeStore(), lifetimeMs)
  if (store === undefined) return signedNonces({ audience, macs, used: nonces, lifetimeMs, now })
  throw new CountersignError('INVALID_ARGUMENT', 'agentSignIn takes store or nonces, not both.')
}

async function checked(checking: Promise<Verification>): Promise<Verification> {
  try {
    return await checking
  } catch (error) {
    if (!hasCode(error, 'NOT_FOUND')) throw error
    throw notAdmitted('This key has no certificate.', error)
  }
}

/** Whether the certificate is active and the key is that of the session. */
async function hasKey(registry: Registry, claims: SessionClaims, options: CallOptions) {
  try {
    const { did, status, keySequence } = await registry.agent(claims.did, options)
    recordKeySequence(registry, did, keySequence)
    return status === 'active' && keySequence === claims.keySequence
  } catch (error) {
    if (hasCode(error, 'NOT_FOUND')) return false
    throw error
  }
}

function notAdmitted(message: string, cause?: unknown): CountersignError {
  return new CountersignError('NOT_ADMITTED', message, cause === undefined ? {} : { cause })
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof CountersignError && error.code === code
}

function tokenIn(from: Request | Headers | string): string | null {
  if (typeof from === 'string') return from
  const headers = from instanceof Headers ? from : from.headers
  return /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? null
}
