import { randomBytes } from 'node:crypto'
import { startSession } from '../../packages/server/src/accounts/owners/session.ts'
import { Cookies } from '../../packages/server/src/http/cookies.ts'
import type { Answer } from './answer.ts'
import { type Ask, ask } from './ask.ts'
import type { TestService } from './service.ts'

/** An owner with a session, who sends requests like the dashboard's pages: with fetch and a cookie. */
export interface SignedInOwner {
  readonly ownerId: number
  readonly cookie: string
  get(target: string): Promise<Answer>
  post(target: string, body?: unknown): Promise<Answer>
  send(method: string, target: string, body?: unknown): Promise<Answer>
}

/** Starts a session without a passkey ceremony. @returns the headers to send with requests */
export async function startSessionOf(
  { operator, settings }: Pick<TestService, 'operator' | 'settings'>,
  ownerId: number,
  signedInAt = Date.now(),
): Promise<{ readonly cookie: string; readonly origin: string }> {
  const token = await operator.db.write((tx) =>
    startSession({ now: () => signedInAt, randomBytes }, tx, {
      id: ownerId,
      method: 'passkey',
      browser: { session: null, userAgent: 'a test' },
    }),
  )
  const { origin } = settings.baseUrl
  return { cookie: `${new Cookies(origin).name('session')}=${token}`, origin }
}

/**
 * Signs an owner in without a passkey ceremony.
 * @param signedInAt the time of the sign-in in milliseconds since 1970, for routes that require a recent one
 */
export async function signIn(
  service: TestService,
  ownerId: number,
  signedInAt = Date.now(),
): Promise<SignedInOwner> {
  const { cookie } = await startSessionOf(service, ownerId, signedInAt)
  return withCookie(service, ownerId, cookie)
}

/** An owner whose browser has a session cookie. */
export function withCookie(service: TestService, ownerId: number, cookie: string): SignedInOwner {
  const { origin } = service.settings.baseUrl
  const send = (method: string, target: string, body?: unknown) => {
    const json: Ask = body === undefined ? {} : { body: JSON.stringify(body) }
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    return ask(service, target, { method, headers: { cookie, origin, ...type }, ...json })
  }
  return {
    ownerId,
    cookie,
    send,
    get: (target) => send('GET', target),
    post: (target, body = {}) => send('POST', target, body),
  }
}
