import { type Naming, namingOfDid, referenceKind } from '@countersign/protocol'
import { Failure } from '@countersign/sdk/tool-support'

/**
 * Checks that an argument is a whole DID, for commands that cannot be undone.
 * @returns the names of its deployment
 * @throws Failure USAGE
 */
export function assertDid(text: string): Naming {
  const naming = namingOfDid(text)
  if (naming !== null && referenceKind(text) === 'did') return naming
  throw new Failure(
    'USAGE',
    'Name the agent by its whole DID: a short name, :agent: and 24 characters.',
  )
}
