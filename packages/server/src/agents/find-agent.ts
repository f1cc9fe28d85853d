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
 * Finds the agent that a path parameter names by DID, tail or key.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, UNAVAILABLE
 */
export function findAgent(deps: ReadDeps, reference: string): Promise<AgentView> {
  return findOrThrow(deps, parseAgentReference(deps.site.naming, reference))
}

export interface PageReadDeps extends ReadDeps {
  /** For data that the read model does not have: usernames and the dates of checks. */
  readonly db: Db
}

/**
 * Finds the agent that a page's URL names by DID, tail, key or username.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND; StorageFailure
 */
export async function findAgentForPage(deps: PageReadDeps, reference: string): Promise<AgentView> {
  if (!isUsername(deps.site, reference)) return findAgent(deps, reference)
  const tail = await tailOfUsername(deps.db, reference)
  if (tail !== undefined) return findOrThrow(deps, { kind: 'tail', tail: tail as Tail })
  throw new CodedError('NOT_FOUND', 'There is no agent with this username.')
}

/** A text that is a DID or a tail is never read as a username. */
function isUsername({ naming }: Site, text: string): boolean {
  return USERNAME_PATTERN.test(text) && parseDidOrTail(naming, text) === null
}

/**
 * Finds the agent that the tail in a did:web path names.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, UNAVAILABLE
 */
export function findAgentByTail(deps: ReadDeps, text: string): Promise<AgentView> {
  const tail = parseDidOrTail(deps.site.naming, text)
  if (tail === null || tail !== text) {
    throw new CodedError('VALIDATION_ERROR', 'A DID ends in 24 base58 characters.')
  }
  return findOrThrow(deps, { kind: 'tail', tail })
}

/** @throws CodedError NOT_FOUND, UNAVAILABLE */
export async function findOrThrow(deps: ReadDeps, reference: AgentReference): Promise<AgentView> {
  const view = await deps.readModel.find(reference)
  if (view !== null) return view
  throw new CodedError('NOT_FOUND', 'There is no agent with this DID or key.')
}
