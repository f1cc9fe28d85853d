import type { Naming } from '@countersign/protocol'
import type { Decision } from './decision/decision.ts'

/** Headers for the site behind the gateway: name, value, and the name in lower case. */
export type ForwardedHeaders = readonly (readonly [name: string, value: string, lower: string])[]

/**
 * The headers that a gateway adds for the site behind it (contract section 5). The decision, `verified` and `proof` are
 * always set, the others if they are known. In shadow mode the decision starts with `shadow-`, so that no site enforces it.
 */
export function forwardedHeaders(naming: Naming, decision: Decision): ForwardedHeaders {
  const { action, mode, verified, proof, did, status, identityLevel, signature } = decision
  const { directory, issuer } = decision
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
  }
  const names = naming.forwardedHeaders
  return (Object.keys(names) as (keyof typeof names)[]).flatMap((key) => {
    const value = values[key]
    return value === null ? [] : [[names[key], value, names[key].toLowerCase()] as const]
  })
}

/** The operator chooses the ids of identity providers freely, so they may contain characters a header cannot. */
function printable(text: string): string {
  return /^[\x21-\x7e]+$/.test(text) ? text : encodeURIComponent(text)
}
