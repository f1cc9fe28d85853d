import type { Naming } from '@countersign/protocol'
import type { Decision } from '../decision/decision.ts'

/** The headers of a request, such as `Headers`. */
export interface HeaderReader {
  /** Null without such a header; joined with commas if it is repeated. */
  get(lower: string): string | null
}

/** Whether a request has a signature (RFC 9421), readable or not. */
export function isSigned(headers: HeaderReader): boolean {
  return headers.get('signature-input') !== null || headers.get('signature') !== null
}

/** Whether a request is a CORS preflight (Fetch standard, section 4.9). */
export function isPreflight(method: string, headers: HeaderReader): boolean {
  if (method !== 'OPTIONS') return false
  return !!headers.get('origin') && !!headers.get('access-control-request-method')
}

/**
 * Matches the headers that a gateway sets for the site behind it, `X-<ID header>-…`. Ignores letter case and which
 * character is in place of a hyphen, because servers map `X_ServiceID_Verified` and `X.ServiceID.Verified` to the same
 * variable (RFC 3875 section 4.1.18; RFC 9110 section 5.1).
 */
export function identityHeaderMatcher(idHeader: string): (name: string) => boolean {
  const prefix = `x-${idHeader.toLowerCase()}-`
  const codes = Uint8Array.from(prefix, (each) => each.charCodeAt(0))
  return (name) => {
    if (name.length < codes.length) return false
    for (let i = 0; i < codes.length; i++) {
      if (normalizeCharCode(name.charCodeAt(i)) !== codes[i]) return false
    }
    return true
  }
}

const HYPHEN = 45

/** Lowers letters, keeps digits, and maps every other character to a hyphen. */
function normalizeCharCode(code: number): number {
  if (code >= 97 && code <= 122) return code
  if (code >= 65 && code <= 90) return code + 32
  return code >= 48 && code <= 57 ? code : HYPHEN
}

/** Headers for the site behind the gateway: name, value, and the name in lower case. */
export type ForwardedHeaders = readonly (readonly [name: string, value: string, lower: string])[]

/**
 * The headers that a gateway adds for the site behind it (contract section 5). The decision, `verified` and `proof` are
 * always set, the others if they are known. In shadow mode the decision starts with `shadow-`, so that no site enforces it.
 */
export function forwardedHeaders(naming: Naming, decision: Decision): ForwardedHeaders {
  const { action, mode, verified, proof, did, status, identityLevel, signature } = decision
  const { directory, issuer, delegation, approval } = decision
  const isSigned = proof === 'signature' || directory !== null
  const values = {
    decision: mode === 'shadow' ? `shadow-${action}` : action,
    verified: String(verified),
    proof,
    did: status === null ? null : did,
    status,
    identityLevel: identityLevel && printable(identityLevel),
    contentDigest: isSigned ? (signature?.contentDigest ?? null) : null,
    directory,
    issuer: status === null ? null : issuer,
    delegate: delegation?.keyid ?? null,
    // In shadow mode, nothing is used up: it may have been used before.
    approval: mode === 'shadow' ? null : (approval?.id ?? null),
  }
  const headers: [string, string, string][] = []
  for (const [key, name, lower] of namesOf(naming)) {
    const value = values[key]
    if (value !== null) headers.push([name, value, lower])
  }
  return headers
}

type ForwardedNames = readonly (readonly [
  key: keyof Naming['forwardedHeaders'],
  name: string,
  lower: string,
])[]

const names = new WeakMap<Naming, ForwardedNames>()

/** In their order. There are few deployments, and many requests. */
function namesOf(naming: Naming): ForwardedNames {
  const known = names.get(naming)
  if (known !== undefined) return known
  const entries = Object.entries(naming.forwardedHeaders) as [ForwardedNames[number][0], string][]
  const found = entries.map(([key, name]) => [key, name, name.toLowerCase()] as const)
  names.set(naming, found)
  return found
}

/** The operator chooses the ids of identity providers freely, so they may contain characters a header cannot. */
function printable(text: string): string {
  return /^[\x21-\x7e]+$/.test(text) ? text : encodeURIComponent(text)
}

/** What a gateway accepts as proof of possession. */
export interface AcceptedProofs {
  readonly sessions: boolean
  readonly signatures: boolean
}

/** The `Vary` value for every response behind a gateway. */
export function varyHeader({ idHeader }: Naming, { sessions, signatures }: AcceptedProofs): string {
  return [
    idHeader,
    ...(sessions ? ['Authorization'] : []),
    ...(signatures ? ['Signature'] : []),
  ].join(', ')
}

/** Adds names to a `Vary` value, without duplicates. */
export function mergeVary(vary: string | null | undefined, names: string): string {
  if (!vary) return names
  const present = vary.toLowerCase().split(/\s*,\s*/)
  if (present.includes('*')) return vary
  const missing = names.split(', ').filter((each) => !present.includes(each.toLowerCase()))
  return [vary, ...missing].join(', ')
}
