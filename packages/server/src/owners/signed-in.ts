import { CodedError } from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '../core/http/cookies.ts'
import {
  type Browser,
  findSession,
  requireRecent,
  SESSION_LIFETIME_MS,
  type Session,
  type SessionDeps,
} from './session.ts'

/** Who is signed in, for routes. */
export class SignedIn {
  readonly #deps: SessionDeps
  readonly #cookies: Cookies

  constructor(deps: SessionDeps, cookies: Cookies) {
    this.#deps = deps
    this.#cookies = cookies
  }

  /** The session of a request, or null. */
  async find(request: FastifyRequest): Promise<Session | null> {
    const token = this.#cookies.read(request, 'session')
    return token === null ? null : findSession(this.#deps, token)
  }

  /** @throws CodedError UNAUTHENTICATED */
  async require(request: FastifyRequest): Promise<Session> {
    const session = await this.find(request)
    if (session !== null) return session
    throw new CodedError('UNAUTHENTICATED', 'Sign in first.')
  }

  /** @throws CodedError UNAUTHENTICATED, RECENT_SIGN_IN_REQUIRED */
  async requireRecent(request: FastifyRequest): Promise<Session> {
    const session = await this.require(request)
    requireRecent(session, this.#deps.now())
    return session
  }

  /** What a sign-in needs to know of the browser. */
  async browser(request: FastifyRequest): Promise<Browser> {
    return {
      session: await this.find(request),
      userAgent: request.headers['user-agent'] ?? '',
    }
  }

  /** @param token out of `startSession` */
  remember(reply: FastifyReply, token: string): void {
    this.#cookies.write(reply, 'session', token, SESSION_LIFETIME_MS / 1000)
  }

  forget(reply: FastifyReply): void {
    this.#cookies.clear(reply, 'session')
  }
}
