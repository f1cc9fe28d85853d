import { z } from 'zod'
import type { Agent } from '../../agent.ts'
import { CountersignError } from '../../errors.ts'
import type { AgentSession } from '../../sign-in.ts'
import { argumentsOf, assertAudience, defineTool } from '../define-tool.ts'
import { Failure } from '../failure.ts'
import { parseSiteUrl } from '../site-request.ts'

const TIMEOUT_MS = 10_000

/** The agent's half of `agentSignIn` (docs/relying-parties.md). */
export const signIn = defineTool({
  name: 'sign_in',
  title: 'Sign in at a site',
  description: `Get a session at a site that lets agents sign in: it proves possession of your key once, and fetch then sends the session with every request to that site. Use it if the site requires a session; many accept the signature of fetch alone.
Give the address of the site's sign-in endpoint for agents, from its documentation or from www-authenticate in a response of fetch. It signs in only at the sites that the operator of this server has allowed. The session token stays in this server: nobody needs it from you.`,
  annotations: {
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: true,
  },
  input: argumentsOf({
    endpoint: z
      .string()
      .max(4096)
      .describe(
        "The site's sign-in endpoint for agents, such as https://shop.example/agent-sign-in",
      ),
  }),
  output: z.strictObject({
    site: z.string().describe('The origin to which fetch sends the session'),
    did: z.string().describe('The DID that is signed in'),
    expiresAt: z.string().describe('Sign in again after that'),
  }),
  async run({ endpoint }, context) {
    const url = parseSiteUrl(endpoint)
    assertAudience(url.origin, context)
    const { agent, did } = await context.agentFor(url.origin)
    const session = await signInAt(agent, url)
    if (session.did !== did) throw refusedBy(url, 'returned a session of another agent')
    context.sessions.set(url.origin, session)
    const { expiresAt } = session
    return {
      data: { site: url.origin, did, expiresAt },
      text: `Signed in at ${url.origin} as ${did} until ${expiresAt}. fetch sends the session from now on.`,
    }
  },
})

/** Errors that the site has no words in. */
const OWN_ERRORS = ['NETWORK', 'TIMEOUT', 'WRONG_AUDIENCE', 'NOT_A_CHALLENGE', 'LOOKS_LIKE_A_CLAIM']

async function signInAt(agent: Pick<Agent, 'signIn'>, url: URL): Promise<AgentSession> {
  try {
    return await agent.signIn(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  } catch (error) {
    if (!(error instanceof CountersignError) || OWN_ERRORS.includes(error.code)) throw error
    if (error.code === 'ABORTED') throw new Failure('NO_ANSWER', `${url.origin} took too long.`)
    // The message is the site's, and a model could take it for ours.
    if (error.code === 'NOT_ADMITTED') throw refusedBy(url, 'does not admit this agent')
    throw new Failure(
      'UNEXPECTED_ANSWER',
      `${url.origin} returned no session${error.status === null ? '' : ` (HTTP ${error.status})`}. Check that this is its sign-in endpoint for agents.`,
    )
  }
}

function refusedBy({ origin }: URL, what: string): Failure {
  return new Failure('NOT_ADMITTED', `${origin} ${what}.`)
}
