import type { Naming } from '@countersign/protocol'
import type { Decision } from './decision/decision.ts'

/** Headers for the site behind: name, value, and the name in lower case. */
export type Forwarded = readonly (readonly [name: string, value: string, lower: string])[]

/**
 * What a gateway tells the site behind it (contract section 5). The decision and whether the certificate is active are
 * always told, the rest where it is known. In shadow mode the decision reads `shadow-…`, so that no site takes it for one.
 */
export function forwardedOf(naming: Naming, decision: Decision): Forwarded {
  const { action, mode, verified, did, status, identityLevel } = decision
  const told = {
    decision: mode === 'shadow' ? `shadow-${action}` : action,
    verified: String(verified),
    did: status === null ? null : did,
    status,
    identityLevel: identityLevel && printable(identityLevel),
  }
  const names = naming.forwardedHeaders
  return (Object.keys(names) as (keyof typeof names)[]).flatMap((key) => {
    const value = told[key]
    return value === null ? [] : [[names[key], value, names[key].toLowerCase()] as const]
  })
}

/** A provider's id is the host's own word: whatever it is, it is one header. */
function printable(text: string): string {
  return /^[\x21-\x7e]+$/.test(text) ? text : encodeURIComponent(text)
}
