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

/** How agents sign in at a site. */
export interface AgentSignInOptions {
  /** The service that knows the agents. */
  readonly registry: Registry
  /** The origin at which agents reach you, such as `https://shop.example`. Never take it from a request. */
  readonly audience: string | URL
  /**
   * What your sessions are signed with: 32 bytes or more that nobody else knows. Of several, the first signs and all
   * are accepted, so that a secret can be changed without ending sessions.
   */
  readonly secret: string | Uint8Array | readonly (string | Uint8Array)[]
  /** How long a session lasts, in seconds. Default: 900. */
  readonly sessionSeconds?: number | undefined
  /**
   * Whom to admit, beyond those who are `verified`: an agent whose certificate is active and whose key signed.
   * Default: all of them. For those with a verified owner alone: `({ identityLevel }) => identityLevel !== 'unverified'`
   */
  readonly admit?: ((verification: Verification) => boolean | Promise<boolean>) | undefined
  /** Where open challenges are kept. Default: the memory of this process. */
  readonly store?: ChallengeStore | undefined
  /** The clock of sessions, in milliseconds since 1970. Default: the system's. */
  readonly now?: (() => number) | undefined
}

/** How a session is looked at. */
export interface SessionOptions extends Pick<CallOptions, 'signal' | 'staleIfErrorMs'> {
  /**
   * Ask the service whether the certificate is still active, so that a revoked agent is out at once, and not only when
   * its session ends. Default: false.
   */
  readonly live?: boolean | undefined
}

/** "Sign in as an agent", for a site. */
export interface AgentSignIn {
  /**
   * Answers the requests of the sign-in endpoint: GET gives a challenge, POST takes the answer and gives a session. Put
   * it where `Agent.signIn` looks, such as `/agent-sign-in`. It never throws.
   */
  handle(request: Request): Promise<Response>
  /** A challenge, where you serve the endpoint yourself. */
  begin(): Promise<string>
  /**
   * The session of an agent that has answered a challenge.
   * @throws CountersignError CHALLENGE_SPENT, INVALID_SIGNATURE, NOT_ADMITTED, what `Registry.verify` throws
   */
  complete(answer: VerifyRequest, options?: Pick<CallOptions, 'signal'>): Promise<AgentSession>
  /**
   * The session that a request carries (`Authorization: Bearer …`), or a token.
   * @returns null where there is none, it was not issued here, or it has ended; with `live` also where the certificate
   *   is no longer active
   * @throws CountersignError with `live` alone: what `Registry.lookup` throws where the service is out of reach
   */
  session(from: Request | Headers | string, options?: SessionOptions): Promise<SessionClaims | null>
}

const MOST_SESSION_SECONDS = 24 * 60 * 60

/**
 * Lets agents sign in at a site: they prove their key by a challenge that only this site can ask, and get a short-lived
 * session of the site's own, which costs no further question to the service.
 * @throws CountersignError INVALID_ARGUMENT
 */
export function agentSignIn(options: AgentSignInOptions): AgentSignIn {
  const { registry, secret, sessionSeconds = 900, admit = () => true, now = Date.now } = options
  if (!(sessionSeconds > 0 && sessionSeconds <= MOST_SESSION_SECONDS)) {
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
      const { verified } = await lookupOrGone(registry, claims.did, { signal, staleIfErrorMs })
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

async function lookupOrGone(registry: Registry, did: string, options: CallOptions) {
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
