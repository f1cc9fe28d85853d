import {
  type AgentReference,
  CodedError,
  parseAgentReference,
  parseDidOrTail,
} from '@countersign/protocol'
import type { AgentView } from './agent-record.ts'
import type { Registry } from './read-model/registry.ts'
import type { Site } from './site.ts'

export interface ReadDeps {
  readonly registry: Registry
  readonly site: Site
  readonly now: () => number
}

/**
 * The agent that a path parameter names, by DID, tail or key.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, UNAVAILABLE
 */
export function findAgent(deps: ReadDeps, reference: string): Promise<AgentView> {
  return findOrRefuse(deps, parseAgentReference(deps.site.naming, reference))
}

/** The same for a bare tail out of a did:web path. */
export function findAgentByTail(deps: ReadDeps, text: string): Promise<AgentView> {
  const tail = parseDidOrTail(deps.site.naming, text)
  if (tail === null || tail !== text) {
    throw new CodedError('VALIDATION_ERROR', 'A DID ends in 24 base58 characters.')
  }
  return findOrRefuse(deps, { kind: 'tail', tail })
}

export async function findOrRefuse(deps: ReadDeps, reference: AgentReference): Promise<AgentView> {
  const view = await deps.registry.find(reference)
  if (view !== null) return view
  throw new CodedError('NOT_FOUND', 'There is no agent with this DID or key.')
}
