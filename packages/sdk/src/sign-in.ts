import { fields, matching, type Read, text, time } from './answers/fields.ts'
import type { CallOptions } from './call-options.ts'
import { isTransient, isUntouched } from './http/patience.ts'
import { ServiceClient } from './http/service-client.ts'
import type { SignedChallenge } from './keys/signed-challenge.ts'
import { settingsOf } from './settings.ts'

/** A session that a site has given to an agent. */
export interface AgentSession {
  readonly did: string
  /** Send it as `Authorization: Bearer <token>`. A secret. */
  readonly token: string
  /** ISO 8601 in UTC: sign in anew by then. */
  readonly expiresAt: string
}

const readChallenge: Read<{ readonly challenge: string }> = fields({ challenge: text })

const readSession: Read<AgentSession> = fields<AgentSession>({
  did: text,
  token: matching(/^[\x21-\x7e]+$/),
  expiresAt: time,
})

/** The agent's half of `agentSignIn`. The answer is sent once: whoever has taken it takes it no second time. */
export async function signInAt(
  endpoint: string | URL,
  { signal }: Pick<CallOptions, 'signal'>,
  answer: (challenge: string) => Promise<SignedChallenge>,
): Promise<AgentSession> {
  const { origin, pathname, search } = new URL(endpoint)
  const client = new ServiceClient(settingsOf(origin, {}))
  const path = pathname + search
  const { challenge } = await client.once({ path }, readChallenge, isTransient, signal)
  const body = await answer(challenge)
  return client.once({ path, body }, readSession, isUntouched, signal)
}
