import { createPublicKey } from 'node:crypto'
import { didWebOf, jwkOf, keyThumbprint } from '@countersign/protocol'
import { base64url, flattenedVerify } from 'jose'
import type { Proof } from './kind.ts'

/** An extension of an agent card, as far as its signatures cover it. */
interface CardExtension {
  readonly uri: unknown
  readonly params: Readonly<Record<string, unknown>>
}

/** An Agent Card of A2A 1.0. */
export interface AgentCard {
  /** What a signature of it covers: the parts that A2A knows, in their canonical form (RFC 8785). */
  readonly canonical: string
  readonly extensions: readonly CardExtension[]
  /** Not covered by any signature, and not looked at yet. */
  readonly signatures: readonly unknown[]
}

/** Far more than the agents of one card: so many are tried. */
const MOST_SIGNATURES = 16

/**
 * Reads an agent card. Extensions are read from the canonical form, since that alone is signed: of what A2A does not
 * know, a signature says nothing.
 * @returns null where it is none
 */
export async function readAgentCard(text: string): Promise<AgentCard | null> {
  // Loaded when the first card is looked at: it takes longer than the rest of a start.
  const { canonicalizeAgentCard } = await import('@a2a-js/sdk')
  try {
    const raw: unknown = JSON.parse(text)
    if (!isRecord(raw)) return null
    const canonical = canonicalizeAgentCard({ ...raw, signatures: [] } as unknown as CanonicalInput)
    const covered = JSON.parse(canonical) as { capabilities?: { extensions?: Loose[] } }
    const extensions = (covered.capabilities?.extensions ?? []).map(({ uri, params }) => ({
      uri,
      params: isRecord(params) ? params : {},
    }))
    const signatures = Array.isArray(raw.signatures) ? raw.signatures : []
    return { canonical, extensions, signatures }
  } catch {
    // Not JSON, members of other types than a card's, or nested so deep that the stack ends.
    return null
  }
}

type CanonicalInput = Parameters<typeof import('@a2a-js/sdk').canonicalizeAgentCard>[0]
type Loose = { readonly uri?: unknown; readonly params?: unknown }

/**
 * Whether the certified key of an agent has signed a card (JWS, RFC 7515; A2A 1.0 section 8.4). No address in a header
 * is followed, and no other algorithm taken. The SDK's own verifier takes any, and prints what it is given.
 */
export async function isSignedBy(proof: Proof, card: AgentCard): Promise<boolean> {
  const key = createPublicKey({ key: { ...jwkOf(proof.publicKey) }, format: 'jwk' })
  const names = keyNamesOf(proof)
  for (const each of card.signatures.slice(0, MOST_SIGNATURES)) {
    if (!isRecord(each)) continue
    const { protected: header, signature } = each
    if (typeof header !== 'string' || typeof signature !== 'string') continue
    const jws = { protected: header, signature, payload: base64url.encode(card.canonical) }
    const options = { algorithms: ['EdDSA', 'Ed25519'] }
    const verified = await flattenedVerify(jws, key, options).catch(() => null)
    if (names.includes(String(verified?.protectedHeader?.kid))) return true
  }
  return false
}

/** What `kid` may call it: a verification method of its DID document, or its thumbprint (RFC 7638). */
function keyNamesOf({ baseUrl, did, publicKey }: Proof): readonly string[] {
  const id = didWebOf(new URL(baseUrl).host, did)
  return [`${id}#key-1`, `${id}#key-1-jwk`, keyThumbprint(publicKey)]
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
