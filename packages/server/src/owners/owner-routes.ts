import { CodedError, errorSchema } from '@countersign/protocol'
import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { Cookies } from '../core/http/cookies.ts'
import type { OwnerDeps } from './owner-deps.ts'
import {
  assertRecentSignIn,
  type Browser,
  findSession,
  SESSION_LIFETIME_MS,
  type Session,
  type SessionDeps,
} from './session.ts'

/** What routes for signed-in owners share. `Deps`: the dependencies of the capability's own rules. */
export interface OwnerRouteContext<Deps = OwnerDeps> {
  readonly deps: Deps
  readonly cookies: Cookies
  readonly signedIn: SignedIn
}

/** Adds the refusals to a route's schema, and the tag under which the dashboard's own API stands. */
export function ownerSchema<T extends FastifySchema & { response: object }>(schema: T) {
  return {
    tags: ['owner'],
    ...schema,
    response: { '4xx': errorSchema(), '5xx': errorSchema(), ...schema.response },
  }
}

/** An answer without a body. */
export function noContent(description: string) {
  return { type: 'null', description } as const
}

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
    assertRecentSignIn(session, this.#deps.now())
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
  setCookie(reply: FastifyReply, token: string): void {
    this.#cookies.write(reply, 'session', token, SESSION_LIFETIME_MS / 1000)
  }

  clearCookie(reply: FastifyReply): void {
    this.#cookies.clear(reply, 'session')
  }
}

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * A hook against cross-site request forgery: what changes state comes from our own pages, or from no page at all.
 * Browsers send Origin with every request that is not GET or HEAD; a program with a cookie of its own may leave it out.
 */
export function rejectCrossOrigin(baseUrl: string) {
  return (request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void => {
    done(SAFE.has(request.method) || isOurs(request, baseUrl) ? undefined : refusal())
  }
}

function isOurs({ headers }: FastifyRequest, baseUrl: string): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && origin !== baseUrl) return false
  return site === undefined || site === 'same-origin'
}

function refusal(): CodedError {
  return new CodedError('FORBIDDEN', 'This can only be done from a page of this service.')
}
