import { didOf, parseDidOrTail } from '@countersign/protocol'
import type { NamingOptions } from './names.ts'
import { namingOf } from './naming.ts'

/**
 * The DID in the identification header of a request (contract section 5). It is what the caller says of itself: look it
 * up, and ask for proof (`agentSignIn`, `createChallenges`) where it matters who holds the key.
 * @param naming of the deployment, such as `registry.naming`
 * @returns null where there is no header, or none that can be read, two at once among them
 */
export function identifiedDid(headers: Headers, naming?: NamingOptions): string | null {
  const names = namingOf(naming)
  const tail = parseDidOrTail(names, headers.get(names.idHeader) ?? '')
  return tail === null ? null : didOf(names, tail)
}
