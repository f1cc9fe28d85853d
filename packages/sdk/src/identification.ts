import { didOf, parseDidOrTail } from '@countersign/protocol'
import { namingOf } from './naming.ts'
import type { NamingOptions } from './options.ts'

/**
 * The DID in the identification header of a request (contract section 5). It is self-asserted: look it up, and ask for
 * proof (`agentSignIn`, `createChallenges`) if it matters who holds the key.
 * @param naming of the deployment, such as `registry.naming`
 * @returns null if there is no header, several, or one in another form
 */
export function identifiedDid(headers: Headers, naming?: NamingOptions): string | null {
  const names = namingOf(naming)
  const tail = parseDidOrTail(names, headers.get(names.idHeader) ?? '')
  return tail === null ? null : didOf(names, tail)
}
