import { CountersignError } from './errors.ts'
import { isTransient, wasNotProcessed } from './http/retry.ts'
import { ServiceClient } from './http/service-client.ts'
import type { SignedChallenge } from './keys/signed-challenge.ts'
import type { CallOptions } from './options.ts'
import { type Read, readerOf } from './responses/read-schema.ts'
import { clientSettings } from './settings.ts'

/** A session that a site has given to an agent. */
export interface AgentSession {
  readonly did: string
  /** Send it as `Authorization: Bearer <token>`. A secret. */
  readonly token: string
  /** ISO 8601 in UTC: sign in again before that. */
  readonly expiresAt: string
}

const text = { type: 'string' }

const readChallenge: Read<{ readonly challenge: string }> = readerOf(
  { type: 'object', properties: { challenge: text } },
  null,
)

const readSession: Read<AgentSession> = readerOf(
  {
    type: 'object',
    properties: {
      did: text,
      token: { type: 'string', pattern: '^[\\x21-\\x7e]+$' },
      expiresAt: { type: 'string', format: 'date-time' },
    },
  },
  null,
)

/**
 * The agent's half of `agentSignIn`: gets a challenge, answers it, gets a session.
 * The answer is sent once, since a site accepts a challenge once.
 */
export async function signInAt(
  endpoint: string | URL,
  { signal }: Pick<CallOptions, 'signal'>,
  answer: (challenge: string) => Promise<SignedChallenge>,
): Promise<AgentSession> {
  const { origin, pathname, search } = new URL(endpoint)
  const client = new ServiceClient(clientSettings(origin, {}))
  const path = pathname + search
  const { challenge } = await client
    .send({ path }, readChallenge, isTransient, signal)
    .catch((error: CountersignError) => {
      throw withoutSignIn(error, origin + pathname)
    })
  const body = await answer(challenge)
  return client.send({ path, body }, readSession, wasNotProcessed, signal)
}

/** The error of a request for a challenge: in words if nothing answers with one. */
function withoutSignIn(cause: CountersignError, endpoint: string): CountersignError {
  const { code, status } = cause
  if (code !== 'PROTOCOL' && code !== 'NOT_FOUND') return cause
  return new CountersignError(
    'PROTOCOL',
    `${endpoint} is no sign-in endpoint for agents: it answers without a challenge. A site with one names it in WWW-Authenticate (sign_in="/…"), and agent.fetch follows it by itself. Other sites: sign the requests, with agent.fetch.`,
    { cause, ...(status !== null && { status }) },
  )
}
