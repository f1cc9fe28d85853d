import type { AgentSession } from '../sign-in.ts'

/** A session is not used in its last seconds, since the request takes time. */
const MARGIN_MS = 5_000

/** The sessions of an agent in memory: one at most for each origin of its audiences. */
export class SiteSessions {
  readonly #sessions = new Map<string, AgentSession>()
  readonly #signingIn = new Map<string, Promise<AgentSession>>()

  /** @param now milliseconds since 1970 @returns null if there is none, or it is about to expire */
  get(origin: string, now: number): AgentSession | null {
    const session = this.#sessions.get(origin)
    if (session === undefined) return null
    if (Date.parse(session.expiresAt) - MARGIN_MS > now) return session
    this.end(origin, session)
    return null
  }

  set(origin: string, session: AgentSession): void {
    this.#sessions.set(origin, session)
  }

  /** Forgets a session that the site no longer accepts, unless another one has replaced it. */
  end(origin: string, session: AgentSession): void {
    if (this.#sessions.get(origin) === session) this.#sessions.delete(origin)
  }

  /** Signs in once for all requests that need a session of an origin at the same time. */
  async signIn(origin: string, signIn: () => Promise<AgentSession>): Promise<AgentSession> {
    const pending = this.#signingIn.get(origin)
    if (pending !== undefined) return pending
    const signingIn = signIn()
    this.#signingIn.set(origin, signingIn)
    try {
      const session = await signingIn
      this.set(origin, session)
      return session
    } finally {
      this.#signingIn.delete(origin)
    }
  }
}
