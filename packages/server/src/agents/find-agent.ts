import {
  type AgentReference,
  CodedError,
  parseAgentReference,
  parseDidOrTail,
  type Tail,
  USERNAME_PATTERN,
} from '@countersign/protocol'
import { Type } from 'typebox'
import type { Site } from '../base/site.ts'
import { timestamp } from '../base/timestamp.ts'
import type { AgentRow, Db } from '../database/database.ts'
import type { Pepper } from '../secrets/secrets.ts'
import type { AgentView } from './agent-record.ts'
import { agentByTail, tailOfUsername } from './agent-table.ts'
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
  /** For usernames that were given up. */
  readonly pepper: Pepper
}

/**
 * Finds the agent that a page's URL names by DID, tail, key or username.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND; StorageFailure
 */
export async function findAgentForPage(deps: PageReadDeps, reference: string): Promise<AgentView> {
  if (!isUsername(deps.site, reference)) return findAgent(deps, reference)
  const tail = await tailOfUsername(deps.db, reference)
  if (tail !== undefined) return findOrThrow(deps, { kind: 'tail', tail: tail as Tail })
  throw new CodedError('NOT_FOUND', NO_AGENT_WITH_USERNAME)
}

export const NO_AGENT_WITH_USERNAME = 'No agent has this username.'

/** A text that is a DID or a tail is never read as a username. */
export function isUsername({ naming }: Site, text: string): boolean {
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

const NO_AGENT = 'There is no agent with this DID or key.'

/** @throws CodedError NOT_FOUND, also for a key that was replaced or reported as compromised; UNAVAILABLE */
export async function findOrThrow(deps: ReadDeps, reference: AgentReference): Promise<AgentView> {
  const { readModel } = deps
  const view = await readModel.find(reference)
  if (reference.kind === 'key') await assertInUse(readModel, reference.publicKey, view)
  if (view !== null) return view
  throw new CodedError('NOT_FOUND', NO_AGENT)
}

/**
 * Checks that a key was not replaced or burned. An agent with a burned key is never active, so an active one costs no query.
 * @param view the agent that has the key, or null
 * @throws CodedError NOT_FOUND, with the time in its message
 */
export async function assertInUse(
  readModel: AgentReadModel,
  publicKey: Uint8Array,
  view: AgentView | null,
): Promise<void> {
  if (view?.agent.status === 'active') return
  const end = await readModel.endOfKey(publicKey)
  if (end === null) return
  const since = timestamp(end.valid_until)
  if (end.state === 'compromised') {
    const message = `This key was reported as compromised. It has not been valid since ${since}.`
    throw new CodedError('NOT_FOUND', message)
  }
  // It is the thumbprint of a key that the database has lost, and no key.
  if (end.state === 'lost') throw new CodedError('NOT_FOUND', NO_AGENT)
  if (view === null) throw new CodedError('NOT_FOUND', `This key was replaced at ${since}.`)
}

/** The URL of one of the signed-in owner's agents. */
export const OWN_AGENT = '/api/account/agents/:agent'

/** The schema of the URL's path parameter. */
export function ownAgentParam() {
  return Type.Object({
    agent: Type.String({ description: 'a DID, or its 24-character tail' }),
  })
}

/**
 * Reads an agent of an owner.
 * @throws CodedError NOT_FOUND if there is no such agent or it belongs to another owner: callers cannot tell which
 */
export async function requireOwn(db: Db, ownerId: number, tail: Tail): Promise<AgentRow> {
  const row = await agentByTail(db, tail)
  if (row !== undefined && row.owner_id === ownerId) return row
  throw noOwnAgent()
}

export function noOwnAgent(): CodedError {
  return new CodedError('NOT_FOUND', 'You have no agent with this DID.')
}
