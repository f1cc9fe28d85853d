import { A2A_IDENTITY_PATH, encodeBase64Url, referenceKind, utf8 } from '@countersign/protocol'
import type { Signer } from '@countersign/sdk'
import { Failure } from '@countersign/sdk/tool-support'

/** The JSON of an Agent Card of A2A 1.0. */
export type AgentCard = Record<string, unknown>

/** A card, and the text that a signature of it covers. */
export interface ReadCard {
  readonly card: AgentCard
  /** The fields that A2A defines, as canonical JSON (RFC 8785; A2A 1.0 section 8.4.1). */
  readonly canonical: string
  /** The DIDs in its identity extensions. */
  readonly dids: readonly string[]
}

interface CanonicalCard {
  readonly capabilities?: { readonly extensions?: readonly Extension[] }
}

interface Extension {
  readonly uri?: unknown
  readonly params?: { readonly did?: unknown }
}

/**
 * Parses an agent card.
 * @param source names the origin of the text in messages
 * @throws Failure USAGE if it is not an agent card, or has no identity extension
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
    throw new Failure('USAGE', `${source} is not an A2A 1.0 agent card.`, { cause })
  }
  const dids = didsIn(JSON.parse(canonical))
  if (dids.length > 0) return { card, canonical, dids }
  throw new Failure(
    'USAGE',
    `${source} has no identity extension. Add the extension that the dashboard shows to the owner (its uri ends in ${A2A_IDENTITY_PATH}) to capabilities.extensions.`,
  )
}

/**
 * Signs a card (flattened JWS, RFC 7515; A2A 1.0 section 8.4.2). The signature replaces a previous one by the same key, so
 * that a changed card can be signed again.
 * @param keyId the verification method in the agent's DID document
 */
export async function signAgentCard(
  { card, canonical }: ReadCard,
  key: Signer,
  keyId: string,
): Promise<AgentCard> {
  const header = encodeBase64Url(utf8(JSON.stringify({ alg: 'EdDSA', typ: 'JOSE', kid: keyId })))
  const payload = encodeBase64Url(utf8(canonical))
  const signature = encodeBase64Url(await key.sign(utf8(`${header}.${payload}`)))
  const previous = Array.isArray(card.signatures) ? card.signatures : []
  const others = previous.filter((entry) => entry?.protected !== header)
  return { ...card, signatures: [...others, { protected: header, signature }] }
}

function parseObject(text: string, source: string): AgentCard {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as AgentCard
    }
  } catch {
    // The error below covers this as well.
  }
  throw new Failure('USAGE', `${source} is not a JSON object.`)
}

function didsIn({ capabilities }: CanonicalCard): string[] {
  const ours = (capabilities?.extensions ?? []).filter(({ uri }) =>
    String(uri).endsWith(A2A_IDENTITY_PATH),
  )
  return [...new Set(ours.map(({ params }) => String(params?.did)).filter(isDid))]
}

function isDid(text: string): boolean {
  return referenceKind(text) === 'did'
}
