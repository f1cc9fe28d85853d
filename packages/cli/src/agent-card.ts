import { A2A_IDENTITY_PATH, encodeBase64Url, utf8 } from '@countersign/protocol'
import type { AgentKey } from './agent-key.ts'
import { namingOfDid } from './deployment.ts'
import { Failure } from './failure.ts'

/** An Agent Card of A2A 1.0 as it was written. */
export type AgentCard = Record<string, unknown>

/** A card, and what a signature of it covers. */
export interface ReadCard {
  readonly card: AgentCard
  /** The parts that A2A knows, in their canonical form (RFC 8785; A2A 1.0 section 8.4.1). */
  readonly canonical: string
  /** Whom it names, by the extension of a service. */
  readonly dids: readonly string[]
}

interface Covered {
  readonly capabilities?: { readonly extensions?: readonly Extension[] }
}

interface Extension {
  readonly uri?: unknown
  readonly params?: { readonly did?: unknown }
}

/**
 * Reads an agent card.
 * @param source how messages name where the text is from
 * @throws Failure USAGE where it is none, or names no agent
 */
export async function readAgentCard(text: string, source: string): Promise<ReadCard> {
  const { canonicalizeAgentCard } = await import('@a2a-js/sdk')
  const card = parseObject(text, source)
  let canonical: string
  try {
    canonical = canonicalizeAgentCard(
      card as unknown as Parameters<typeof canonicalizeAgentCard>[0],
    )
  } catch (cause) {
    throw new Failure('USAGE', `${source} is no agent card of A2A 1.0.`, { cause })
  }
  const dids = didsIn(JSON.parse(canonical))
  if (dids.length > 0) return { card, canonical, dids }
  throw new Failure(
    'USAGE',
    `${source} names no agent: put the extension that the agent's owner has been given (its uri ends in ${A2A_IDENTITY_PATH}) into capabilities.extensions.`,
  )
}

/**
 * Signs a card (JWS, RFC 7515, in the flattened form; A2A 1.0 section 8.4.2). A signature of the same key takes the
 * place of the one before, so that a card can be changed and signed anew.
 * @param keyId the verification method in the agent's DID document
 */
export function signAgentCard(
  { card, canonical }: ReadCard,
  key: AgentKey,
  keyId: string,
): AgentCard {
  const header = encodeBase64Url(utf8(JSON.stringify({ alg: 'EdDSA', typ: 'JOSE', kid: keyId })))
  const payload = encodeBase64Url(utf8(canonical))
  const signature = encodeBase64Url(Buffer.from(key.sign(utf8(`${header}.${payload}`)), 'base64'))
  const others = Array.isArray(card.signatures) ? card.signatures : []
  const kept = others.filter((each) => each?.protected !== header)
  return { ...card, signatures: [...kept, { protected: header, signature }] }
}

function parseObject(text: string, source: string): AgentCard {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as AgentCard
    }
  } catch {
    // Said below, for this and for what is no object alike.
  }
  throw new Failure('USAGE', `${source} holds no JSON object.`)
}

function didsIn({ capabilities }: Covered): string[] {
  const ours = (capabilities?.extensions ?? []).filter(({ uri }) =>
    String(uri).endsWith(A2A_IDENTITY_PATH),
  )
  return [...new Set(ours.map(({ params }) => String(params?.did)).filter(isDid))]
}

function isDid(text: string): boolean {
  return namingOfDid(text)?.didPattern.test(text) ?? false
}
