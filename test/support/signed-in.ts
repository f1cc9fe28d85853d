import { randomBytes } from 'node:crypto'
import { startSession } from '../../packages/server/src/domain/session.ts'
import { Cookies } from '../../packages/server/src/http/owner/cookies.ts'
import type { Answer } from './answer.ts'
import { type Ask, ask } from './ask.ts'
import type { TestService } from './service.ts'

/** An owner with a session, who asks as the dashboard's pages do: nothing but fetch and a cookie. */
export interface SignedInOwner {
  readonly ownerId: number
  readonly cookie: string
  get(target: string): Promise<Answer>
  post(target: string, body?: unknown): Promise<Answer>
  send(method: string, target: string, body?: unknown): Promise<Answer>
}

/**
 * Signs an owner in without a ceremony.
 * @param signedInAt when, for tests of what needs a recent sign-in
 */
export async function signIn(
  service: TestService,
  ownerId: number,
  signedInAt = Date.now(),
): Promise<SignedInOwner> {
  const token = await service.operator.db.write((tx) =>
    startSession({ now: () => signedInAt, randomBytes }, tx, {
      id: ownerId,
      method: 'passkey',
      browser: { session: null, userAgent: 'a test' },
    }),
  )
  const { origin } = service.settings.baseUrl
  const cookie = `${new Cookies(origin).name('session')}=${token}`
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
