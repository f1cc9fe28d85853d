import { CountersignError } from '../errors.ts'
import type { CallOptions } from '../options.ts'
import { originOf } from '../origin.ts'
import type { Registry, VerifyRequest } from '../registry.ts'
import type { Verification } from '../responses/types.ts'
import type { AgentSession } from '../sign-in.ts'
import type { ChallengeStore } from './challenge-store.ts'
import { createChallenges } from './challenges.ts'
import { type SessionClaims, sessionTokens } from './session-token.ts'
import { answerSignIn } from './sign-in-endpoint.ts'

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
  /** The clock of sessions, in milliseconds since 1970. Default: the system's. */
  readonly now?: (() => number) | undefined
}

/** Options of `AgentSignIn.session`. */
export interface SessionOptions extends Pick<CallOptions, 'signal' | 'staleIfErrorMs'> {
  /**
   * Ask the service whether the certificate is still active, so that the session of a revoked agent ends at once. Default:
   * false.
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
   * @returns null if there is none, it was not issued here or it has expired; with `live` also if the certificate is not
   *   active
   * @throws CountersignError only with `live`: those of `Registry.lookup` if the service is unreachable
   */
  session(from: Request | Headers | string, options?: SessionOptions): Promise<SessionClaims | null>
}

const MAX_SESSION_SECONDS = 24 * 60 * 60

/**
 * Lets agents sign in at a site: they prove their key with a challenge for this site and get a short-lived session of the
 * site's own, which needs no further request to the service.
 * @throws CountersignError INVALID_ARGUMENT
 */
export function agentSignIn(options: AgentSignInOptions): AgentSignIn {
  const { registry, secret, sessionSeconds = 900, admit = () => true, now = Date.now } = options
  if (!(sessionSeconds > 0 && sessionSeconds <= MAX_SESSION_SECONDS)) {
    throw new CountersignError('INVALID_ARGUMENT', 'sessionSeconds is from 1 second to a day.')
  }
  const audience = originOf(options.audience, 'The audience')
  const challenges = createChallenges({ registry, audience, store: options.store })
  const tokens = sessionTokens(audience, Array.isArray(secret) ? secret : [secret])

  const complete: AgentSignIn['complete'] = async (answer, callOptions) => {
    const verification = await checked(challenges.check(answer, callOptions))
    if (!verification.verified || !(await admit(verification))) {
      throw notAdmitted('This agent is not admitted here.')
    }
    const { agent, identityLevel } = verification
    const issuedAt = now()
    const expiresAt = Math.floor(issuedAt / 1000 + sessionSeconds) * 1000
    const token = await tokens.issue({ did: agent.did, identityLevel, issuedAt, expiresAt })
    return { did: agent.did, token, expiresAt: new Date(expiresAt).toISOString() }
  }

  const begin = () => challenges.issue()
  return {
    begin,
    complete,
    handle: (request) => answerSignIn(request, { begin, complete }),
    async session(from, { live = false, signal, staleIfErrorMs } = {}) {
      const token = tokenIn(from)
      const claims = token === null ? null : await tokens.read(token, now())
      if (claims === null || !live) return claims
      const { verified } = await lookupOrUnverified(registry, claims.did, {
        signal,
        staleIfErrorMs,
      })
      return verified ? claims : null
    },
  }
}

async function checked(checking: Promise<Verification>): Promise<Verification> {
  try {
    return await checking
  } catch (error) {
    if (!hasCode(error, 'NOT_FOUND')) throw error
    throw notAdmitted('This key has no certificate.', error)
  }
}

async function lookupOrUnverified(registry: Registry, did: string, options: CallOptions) {
  try {
    return await registry.lookup(did, options)
  } catch (error) {
    if (hasCode(error, 'NOT_FOUND')) return { verified: false }
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
