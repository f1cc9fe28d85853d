import {
  type AgentReference,
  CodedError,
  parseAgentReference,
  parseDidOrTail,
  type Tail,
  USERNAME_PATTERN,
} from '@countersign/protocol'
import type { Db } from '../core/database/database.ts'
import type { Site } from '../core/site.ts'
import type { AgentView } from './agent-record.ts'
import { tailOfUsername } from './agent-table.ts'
import type { AgentReadModel } from './read-model/agent-read-model.ts'

export interface ReadDeps {
  readonly readModel: AgentReadModel
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

export interface PageReadDeps extends ReadDeps {
  /** For what the read model does not know: usernames, the dates of checks. */
  readonly db: Db
}

/**
 * The agent that the address of a page names: by DID, tail or key, or by username.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND; StorageFailure
 */
export async function findAgentForPage(deps: PageReadDeps, reference: string): Promise<AgentView> {
  if (!isUsername(deps.site, reference)) return findAgent(deps, reference)
  const tail = await tailOfUsername(deps.db, reference)
  if (tail !== undefined) return findOrRefuse(deps, { kind: 'tail', tail: tail as Tail })
  throw new CodedError('NOT_FOUND', 'There is no agent with this username.')
}

/** No username has the shape of a tail. */
function isUsername({ naming }: Site, text: string): boolean {
  return USERNAME_PATTERN.test(text) && parseDidOrTail(naming, text) === null
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
  const view = await deps.readModel.find(reference)
  if (view !== null) return view
  throw new CodedError('NOT_FOUND', 'There is no agent with this DID or key.')
}
