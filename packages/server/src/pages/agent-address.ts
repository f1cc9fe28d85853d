import type { Did, Tail } from '@countersign/protocol'
import { givenUpAt } from '../accounts/username-quarantine.ts'
import type { AgentView } from '../agents/agent-record.ts'
import { tailOfUsername } from '../agents/agent-table.ts'
import { findAgent, isUsername, type PageReadDeps } from '../agents/find-agent.ts'
import { didOfAgent } from '../base/site.ts'
import { startOfDay, timestamp } from '../base/timestamp.ts'

/** What the address of a public page or picture names. */
export type AgentAddress =
  | { readonly kind: 'agent'; readonly view: AgentView }
  /** The username of an agent, whose page is at its DID. */
  | { readonly kind: 'username'; readonly did: Did }
  /** A username that no agent has. `givenUpOn`: the start of the day on which one gave it up, ISO 8601, if that is public. */
  | { readonly kind: 'free'; readonly givenUpOn: string | null }

/** @throws CodedError VALIDATION_ERROR, NOT_FOUND for a DID, tail or key; StorageFailure */
export async function resolveAddress(deps: PageReadDeps, reference: string): Promise<AgentAddress> {
  const { db, site } = deps
  if (!isUsername(site, reference)) {
    return { kind: 'agent', view: await findAgent(deps, reference) }
  }
  const tail = await tailOfUsername(db, reference)
  if (tail !== undefined) return { kind: 'username', did: didOfAgent(site, tail as Tail) }
  return { kind: 'free', givenUpOn: await givenUpOn(deps, reference) }
}

/** Only the day: the exact time would tell which agent gave the username up. */
export async function givenUpOn(
  { db, pepper, now }: PageReadDeps,
  username: string,
): Promise<string | null> {
  const at = await givenUpAt(db, pepper, { namespace: 'agent', username }, now())
  return at === null ? null : timestamp(startOfDay(at))
}
