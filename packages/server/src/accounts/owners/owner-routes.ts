import {
  type ApiKeyScope,
  CodedError,
  ERROR_STATUS,
  errorSchema,
  organisationParameter,
} from '@countersign/protocol'
import type { FastifyReply, FastifyRequest, FastifySchema, RouteOptions } from 'fastify'
import type { Cookies } from '../../http/cookies.ts'
import { toCodedError } from '../../http/errors.ts'
import type { Part } from '../../http/part.ts'
import type { App } from '../../http/server.ts'
import type { Caller } from '../notify-of-access.ts'
import type { OwnerDeps, Providers } from '../providers/providers.ts'
import { type ApiKeyDeps, authenticateApiKey } from './api-keys.ts'
import { failureOf } from './callback-failure.ts'
import type { MemberRequests, OwnerRequest } from './member-requests.ts'
import { LEAST_ROLES } from './roles.ts'
import {
  assertRecentSignIn,
  type Browser,
  findSession,
  type MemberSession,
  SESSION_LIFETIME_MS,
  type Session,
  type SessionDeps,
} from './session.ts'

/**
 * What the routes for signed-in owners share.
 * @typeParam Deps the dependencies of the capability's own rules
 */
export interface OwnerRouteContext<Deps = OwnerDeps> {
  readonly deps: Deps
  readonly cookies: Cookies
  readonly authenticator: RequestAuthenticator
}

/** A part with routes for signed-in owners. */
export interface OwnersPart extends Part {
  readonly ownerRoutes?: (
    app: App,
    owners: Pick<OwnerRouteContext, 'cookies' | 'authenticator'>,
  ) => void
}

/** The member of a route's schema that names the scope with which API keys may use it. OpenAPI shows it too. */
const API_KEY_SCOPE = 'x-api-key-scope'

/** The schema member for a route that API keys with a scope may use. Its handler calls `RequestAuthenticator.owner`. */
export function forApiKeys(scope: ApiKeyScope) {
  return { [API_KEY_SCOPE]: scope }
}

/** Adds the error responses and the OpenAPI tag of the owners' API to a route's schema. */
export function ownerSchema<T extends FastifySchema & { response: object }>(schema: T) {
  return {
    tags: ['owner'],
    ...schema,
    response: { '4xx': errorSchema(), '5xx': errorSchema(), ...schema.response },
  }
}

/** The schema of a response without a body. */
export function noContent(description: string) {
  return { type: 'null', description } as const
}

interface OwnerRouteSchema {
  readonly operationId?: string
  readonly querystring?: object
  readonly [API_KEY_SCOPE]?: ApiKeyScope
}

function schemaOf(request: FastifyRequest): OwnerRouteSchema {
  return (request.routeOptions.schema ?? {}) as OwnerRouteSchema
}

function ownerRequest(request: FastifyRequest): OwnerRequest {
  return {
    id: request.id,
    method: request.method,
    operation: schemaOf(request).operationId ?? '',
    organisation: (request.query as { organisation?: string }).organisation ?? null,
  }
}

/** Adds the parameter `organisation` to the query schema of a route that members may use. */
export function takeOrganisation(route: RouteOptions): void {
  const { operationId = '', querystring, ...schema } = (route.schema ?? {}) as OwnerRouteSchema
  if (LEAST_ROLES[operationId] === undefined) return
  const { properties = {}, ...query } = (querystring ?? { type: 'object' }) as {
    properties?: object
  }
  route.schema = {
    ...schema,
    operationId,
    querystring: { ...query, properties: { ...properties, organisation: organisationParameter() } },
  } as FastifySchema
}

/**
 * A hook that refuses the parameter `organisation` with 400 where it says nothing: for what only persons do, and with an API key,
 * which belongs to one owner.
 */
export function refuseStrayOrganisation(
  request: FastifyRequest,
  _reply: unknown,
  done: (error?: Error) => void,
): void {
  const isNamed = Object.hasOwn(request.query as object, 'organisation')
  done(isNamed ? strayOrganisation(request) : undefined)
}

function strayOrganisation(request: FastifyRequest): CodedError | undefined {
  if (LEAST_ROLES[schemaOf(request).operationId ?? ''] === undefined) {
    return new CodedError(
      'VALIDATION_ERROR',
      'Only a person can do this, for their own account. Leave out the parameter organisation.',
    )
  }
  if (bearerOf(request) === null) return undefined
  return new CodedError(
    'VALIDATION_ERROR',
    'An API key belongs to one owner. Leave out the parameter organisation.',
  )
}

/** The text after `Bearer` in a request's `Authorization` header, or null. */
function bearerOf({ headers }: FastifyRequest): string | null {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null
}

/** Authenticates requests of owners by a session or an API key, and sets the session cookie. */
export class RequestAuthenticator {
  readonly #deps: SessionDeps & ApiKeyDeps
  readonly #cookies: Cookies
  readonly #members: MemberRequests

  constructor(deps: SessionDeps & ApiKeyDeps, cookies: Cookies, members: MemberRequests) {
    this.#deps = deps
    this.#cookies = cookies
    this.#members = members
  }

  /**
   * The owner of a request with a session, or with an API key that has the scope of the route.
   * @throws CodedError UNAUTHENTICATED, FORBIDDEN; VALIDATION_ERROR if the request has both
   */
  async owner(request: FastifyRequest): Promise<Session | Caller> {
    const key = bearerOf(request)
    if (key === null) return this.requireSession(request)
    if (this.#cookies.read(request, 'session') !== null) throw ambiguousError()
    const scope = schemaOf(request)[API_KEY_SCOPE] ?? null
    const caller = await authenticateApiKey(this.#deps, key, scope)
    await this.#members.actByKey(this.#deps.db.read, caller, ownerRequest(request))
    return caller
  }

  /**
   * Like `owner`, but a session needs a recent sign-in: for access that outlasts the session.
   * @throws CodedError RECENT_SIGN_IN_REQUIRED, and those of `owner`
   */
  async recentOwner(request: FastifyRequest): Promise<Session | Caller> {
    if (bearerOf(request) !== null) return this.owner(request)
    return this.requireRecentSession(request)
  }

  /**
   * The valid session of a request, or null. It acts for the organisation that the request names.
   * @throws CodedError NOT_FOUND or FORBIDDEN if the person may not act for it, and those of `browser`
   */
  async findSession(request: FastifyRequest): Promise<Session | null> {
    const session = await this.#ownSession(request)
    if (session === null) return null
    const asked = ownerRequest(request)
    // A person who acts for their own account is no member of anything.
    if (asked.organisation === null && session.limitedTo === null) return session
    return this.#members.actFor(this.#deps.db.read, session, asked)
  }

  async #ownSession(request: FastifyRequest): Promise<Session | null> {
    const key = bearerOf(request)
    if (key !== null) {
      if (this.#cookies.read(request, 'session') !== null) throw ambiguousError()
      await authenticateApiKey(this.#deps, key, null)
    }
    const token = this.#cookies.read(request, 'session')
    return token === null ? null : findSession(this.#deps, token)
  }

  /** @throws CodedError UNAUTHENTICATED if there is no valid session */
  async requireSession(request: FastifyRequest): Promise<Session> {
    const session = await this.findSession(request)
    if (session !== null) return session
    throw new CodedError('UNAUTHENTICATED', 'Sign in first.')
  }

  /**
   * The session of a member who acts for an organisation.
   * @throws CodedError VALIDATION_ERROR if the request names none, and those of `requireSession`
   */
  async requireMember(request: FastifyRequest): Promise<MemberSession> {
    const session = await this.requireSession(request)
    const { membership } = session
    if (membership !== null) return { ...session, membership }
    throw new CodedError(
      'VALIDATION_ERROR',
      'Only organisations have this. Name yours in the parameter organisation.',
    )
  }

  /** Like `requireMember`, for sensitive actions. @throws CodedError RECENT_SIGN_IN_REQUIRED, and those of `requireMember` */
  async requireRecentMember(request: FastifyRequest): Promise<MemberSession> {
    const session = await this.requireMember(request)
    assertRecentSignIn(session, this.#deps.now())
    return session
  }

  /**
   * The session for an organisation that the request does not name: identity providers redirect to one address for all owners.
   * @param operation the `operationId` whose least role decides
   * @param organisation the username of the organisation
   * @throws CodedError NOT_FOUND or FORBIDDEN if the person may not do it for the organisation, and those of `requireSession`
   */
  async requireSessionFor(
    request: FastifyRequest,
    operation: string,
    organisation: string,
  ): Promise<Session> {
    const session = await this.#ownSession(request)
    if (session === null) throw new CodedError('UNAUTHENTICATED', 'Sign in first.')
    const { id } = ownerRequest(request)
    const acting = { id, method: 'POST', operation, organisation }
    return this.#members.actFor(this.#deps.db.read, session, acting)
  }

  /** @throws CodedError UNAUTHENTICATED, or RECENT_SIGN_IN_REQUIRED if the sign-in is older than 10 minutes */
  async requireRecentSession(request: FastifyRequest): Promise<Session> {
    const session = await this.requireSession(request)
    assertRecentSignIn(session, this.#deps.now())
    return session
  }

  /**
   * What a sign-in records about the browser, whose session is that of the person.
   * @throws CodedError FORBIDDEN or UNAUTHENTICATED if the request has an API key: no key can do what needs a session
   */
  async browser(request: FastifyRequest): Promise<Browser> {
    return {
      session: await this.#ownSession(request),
      userAgent: request.headers['user-agent'] ?? '',
    }
  }

  /** @param token from `startSession` */
  setCookie(reply: FastifyReply, token: string): void {
    this.#cookies.write(reply, 'session', token, SESSION_LIFETIME_MS / 1000)
  }

  clearCookie(reply: FastifyReply): void {
    this.#cookies.clear(reply, 'session')
  }
}

function ambiguousError(): CodedError {
  return new CodedError(
    'VALIDATION_ERROR',
    'The request has a session cookie and an API key. Send only one of them.',
  )
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * A hook against cross-site request forgery: rejects state-changing requests from other origins with 403. Browsers send
 * `Origin` with every request that is not GET or HEAD; programs that are not browsers may omit it.
 * @param baseUrl the service's own origin
 */
export function rejectCrossOrigin(baseUrl: string) {
  return (request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void => {
    done(
      SAFE_METHODS.has(request.method) || isSameOrigin(request, baseUrl)
        ? undefined
        : crossOriginError(),
    )
  }
}

function isSameOrigin({ headers }: FastifyRequest, baseUrl: string): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && origin !== baseUrl) return false
  return site === undefined || site === 'same-origin'
}

function crossOriginError(): CodedError {
  return new CodedError('FORBIDDEN', 'This request must come from a page of this service (Origin).')
}

/**
 * Logs why a provider's callback failed, and describes the failure for the dashboard.
 * @param id the provider's id, from the URL of the callback
 * @returns the query of the dashboard page that shows it: codes and ids only
 */
export function callbackFailureQuery(
  error: unknown,
  request: FastifyRequest,
  providers: Providers,
  id: string,
): Record<string, string> {
  return failureQuery(error, request, providers.all.some((each) => each.id === id) ? id : null)
}

/** The same for a provider that is known, or null. */
export function failureQuery(
  error: unknown,
  request: FastifyRequest,
  provider: string | null,
): Record<string, string> {
  const { code, message, cause } = toCodedError(error)
  const outcome = { code: failureOf(error), request: request.id }
  if (provider === null) {
    // Anyone can request this path with any text, which must not fill the log.
    request.log.debug({ requestId: request.id }, message)
    return { failed: 'unknown', ...outcome }
  }
  // A rejected callback can be an attack, so the operator gets the cause. Causes hold no text from outside.
  const level = ERROR_STATUS[code] >= 500 ? 'error' : 'warn'
  request.log[level]({ err: cause, provider, requestId: request.id }, message)
  return { failed: provider, ...outcome }
}
