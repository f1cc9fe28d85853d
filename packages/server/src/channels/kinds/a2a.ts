import { a2aIdentityUri } from '@countersign/protocol'
import { cliPackage } from '../../base/packages.ts'
import { type Perspective, ProofAbsent } from '../../http/outbound/perspective.ts'
import { type AgentCard, isSignedBy, readAgentCard } from './agent-card.ts'
import { expiryProblem, fetchWellKnown, wellKnownUrl } from './domain.ts'
import type { ChannelKind, FoundProof, Proof, ProofQuery } from './kind.ts'
import { DOMAIN_FIELD, parseDomain } from './parse-handle.ts'

const METHOD = 'card'

/** An endpoint of the Agent2Agent protocol, proven by the agent card that it publishes. */
export const a2a: ChannelKind = {
  id: 'a2a',
  label: 'Agent-to-agent (A2A)',
  tier: 2,
  chat: false,
  proves: 'The agent card of this domain names the agent, and the agent has signed it.',
  field: DOMAIN_FIELD,
  freshForMs: 90 * 24 * 3_600_000,
  parse: parseDomain,
  link: (handle) => `https://${handle}/`,
  methods: (proof) => [
    {
      id: METHOD,
      title: 'Signed agent card',
      step: 'Add the extension to capabilities.extensions of the agent card, have the agent sign the card, and publish the signed card at this address.',
      fields: [
        { label: 'Extension', value: JSON.stringify(extensionOf(proof), null, 2), multiline: true },
        { label: 'Signing', value: signingCommand(proof), multiline: false },
        { label: 'Address', value: cardUrl(proof).href, multiline: false },
      ],
    },
  ],
  check: { agreement: 'most', observe },
}

async function observe(from: Perspective, query: ProofQuery): Promise<FoundProof> {
  const { url } = await fetchProvenCard(from, query)
  return {
    method: METHOD,
    detail: `The agent card at ${url} names this agent and is signed by it.`,
  }
}

/**
 * Fetches the card of a domain and checks both directions: the card names the agent, and the agent's certified key has signed the card.
 * @throws ProofAbsent, Unreachable
 */
export async function fetchProvenCard(
  from: Perspective,
  query: ProofQuery,
): Promise<{ readonly url: URL; readonly text: string; readonly card: AgentCard }> {
  const url = cardUrl(query.proof)
  const { text } = await fetchWellKnown(from, url, 'application/json')
  const card = await readAgentCard(text)
  if (card === null) throw new ProofAbsent(`What is at ${url} is no agent card of A2A 1.0.`)
  assertNamesAgent(card, query)
  if (card.signatures.length === 0) {
    throw new ProofAbsent('The agent card names this agent, but nobody has signed it.')
  }
  if (!(await isSignedBy(query.proof, card))) {
    throw new ProofAbsent(
      'The agent card names this agent, but has no valid signature by the agent’s certified key. Sign the card again after every change.',
    )
  }
  return { url, text, card }
}

/** @throws ProofAbsent which says what was found instead */
function assertNamesAgent({ extensions }: AgentCard, { proof, provenBy, now }: ProofQuery): void {
  const uri = a2aIdentityUri(proof.baseUrl)
  const found = extensions.filter((each) => each.uri === uri).map(({ params }) => params)
  const named = found.filter(({ did }) => did === proof.did)
  const ours = named.filter(({ nonce }) => nonce === proof.token)
  const problems = ours.map(({ expiry }) => (provenBy === null ? expiryProblem(expiry, now) : null))
  if (problems.includes(null)) return
  if (ours.length > 0) throw new ProofAbsent(`The agent card names this agent ${problems[0]}.`)
  if (named.length > 0) throw new ProofAbsent('The agent card names this agent with another nonce.')
  if (found.length > 0) throw new ProofAbsent('The agent card names another agent.')
  throw new ProofAbsent(`The agent card has no extension ${uri}.`)
}

/** The extension to add to the card (A2A 1.0 section 4.4.4). */
function extensionOf({ baseUrl, did, token, expiresAt }: Proof) {
  const expiry = new Date(expiresAt).toISOString()
  return { uri: a2aIdentityUri(baseUrl), params: { did, nonce: token, expiry } }
}

function signingCommand({ baseUrl }: Proof): string {
  return `npx -y ${cliPackage(baseUrl)} sign-card agent-card.json --url ${baseUrl} --output signed-card.json`
}

/** The same path as AGENT_CARD_PATH in @a2a-js/sdk. */
function cardUrl({ handle }: Proof): URL {
  return wellKnownUrl(handle, 'agent-card.json')
}
