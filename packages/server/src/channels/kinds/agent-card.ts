import { isUtf8 } from 'node:buffer'
import { createPublicKey } from 'node:crypto'
import { didWebOf, jwkOf, keyThumbprint } from '@countersign/protocol'
import type { Proof } from './kind.ts'

/** The parts of an agent card's extension that its signatures cover. */
interface CardExtension {
  readonly uri: unknown
  readonly params: Readonly<Record<string, unknown>>
}

/** An Agent Card of A2A 1.0. */
export interface AgentCard {
  /** What a signature covers: the members that A2A defines, in canonical JSON (RFC 8785). */
  readonly canonical: string
  readonly extensions: readonly CardExtension[]
  /** Unverified, in any form. */
  readonly signatures: readonly unknown[]
}

/** How many signatures are tried: far more than a card has agents. */
const MAX_SIGNATURES = 16

/**
 * Parses an agent card. Extensions are read from the canonical form, because signatures cover only that.
 * @returns null if the text is not an agent card
 */
export async function readAgentCard(text: string): Promise<AgentCard | null> {
  // Loaded for the first card only, because it takes longer to load than the rest of the service.
  const { canonicalizeAgentCard } = await import('@a2a-js/sdk')
  try {
    const raw: unknown = JSON.parse(text)
    if (!isRecord(raw)) return null
    const canonical = canonicalizeAgentCard({ ...raw, signatures: [] } as unknown as CanonicalInput)
    const covered = JSON.parse(canonical) as {
      capabilities?: { extensions?: UncheckedExtension[] }
    }
    const extensions = (covered.capabilities?.extensions ?? []).map(({ uri, params }) => ({
      uri,
      params: isRecord(params) ? params : {},
    }))
    const signatures = Array.isArray(raw.signatures) ? raw.signatures : []
    return { canonical, extensions, signatures }
  } catch {
    // Not JSON, wrong types, or nested so deeply that the stack overflows.
    return null
  }
}

type CanonicalInput = Parameters<typeof import('@a2a-js/sdk').canonicalizeAgentCard>[0]
type UncheckedExtension = { readonly uri?: unknown; readonly params?: unknown }

/**
 * Whether the certified key of an agent has signed a card (JWS, RFC 7515; A2A 1.0 section 8.4). URLs in headers are not
 * followed and only Ed25519 is accepted. The SDK's verifier is not used, because it accepts any algorithm and logs its input.
 */
export async function isSignedBy(proof: Proof, card: AgentCard): Promise<boolean> {
  const key = createPublicKey({ key: { ...jwkOf(proof.publicKey) }, format: 'jwk' })
  const { base64url, flattenedVerify } = await import('jose')
  for (const each of card.signatures.slice(0, MAX_SIGNATURES)) {
    if (!isRecord(each)) continue
    const { protected: header, signature } = each
    if (typeof header !== 'string' || typeof signature !== 'string') continue
    if (!isPlainHeader(header)) continue
    const jws = { protected: header, signature, payload: base64url.encode(card.canonical) }
    const options = { algorithms: ['EdDSA', 'Ed25519'] }
    const verified = await flattenedVerify(jws, key, options).catch(() => null)
    if (verified && namesKey(proof, String(verified.protectedHeader?.kid))) return true
  }
  return false
}

/**
 * Whether a header has the one form that signers' guards are sure to recognize (`foreignTextIn`): it begins with `{"`, is UTF-8
 * and canonical base64url. `jose` accepts more.
 */
function isPlainHeader(header: string): boolean {
  const bytes = Buffer.from(header, 'base64url')
  return /^ey[I-L]/.test(header) && bytes.toString('base64url') === header && isUtf8(bytes)
}

/**
 * Whether `kid` names the key: by its thumbprint (RFC 7638), or as a verification method of the agent's DID documents, which count
 * keys differently.
 */
function namesKey({ baseUrl, did, publicKey }: Proof, kid: string): boolean {
  const id = didWebOf(new URL(baseUrl).host, did)
  if (kid === keyThumbprint(publicKey)) return true
  return kid.startsWith(id) && /^#key-[1-9]\d{0,9}(?:-jwk)?$/.test(kid.slice(id.length))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
