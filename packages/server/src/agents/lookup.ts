import type { Did, Identify, Lookup } from '@countersign/protocol'
import { certificatePath, didOfAgent, type Site } from '../core/site.ts'
import { timestamp } from '../core/timestamp.ts'
import type { AgentView } from './agent-record.ts'
import { identityLevelOf, identityMethodOf, UNVERIFIED } from './identity-of-owner.ts'

/** The answer to a lookup (contract 4.1). */
export function lookupOf(site: Site, { agent, owner }: AgentView, now: number): Lookup {
  const identityMethod = identityMethodOf(owner, now)
  return {
    verified: agent.status === 'active',
    owner: {
      identityMethod,
      identityLevel: identityMethod === null ? 'unverified' : 'verified',
      claimedAt: timestamp(agent.claimedAt),
    },
    certificate: {
      id: didOfAgent(site, agent.tail),
      status: agent.status,
      verifyUrl: certificatePath(site, agent),
    },
  }
}

/**
 * What tells an answer from every other that there was or will be under the same address: the facts that it is made of,
 * but for the time of the claim, which goes with the DID. Fit for an entity tag (RFC 9110 section 8.8.3).
 */
export function lookupTag(site: Site, { agent, owner }: AgentView, now: number): string {
  const username = encodeURIComponent(agent.profile.username ?? '')
  const method = encodeURIComponent(identityMethodOf(owner, now) ?? '')
  return tagOf(didOfAgent(site, agent.tail), agent.status, username, method)
}

/** An answer to a lookup, as it is sent. */
export interface LookupText {
  /** ASCII. */
  readonly json: string
  readonly tag: string
}

/** What usernames and names of providers are made of: it stands for itself in JSON and in a tag. */
const WORD = /^[a-z0-9-]*$/

/**
 * The answer to a lookup in the bytes that `JSON.stringify` makes of it, and its tag, in half the time.
 * @returns null where that cannot be, for a name that would have to be escaped
 */
export function lookupText(
  site: Site,
  { agent, owner }: AgentView,
  now: number,
): LookupText | null {
  const { status } = agent
  const username = agent.profile.username ?? ''
  const method = identityMethodOf(owner, now) ?? ''
  if (!WORD.test(username) || !WORD.test(method)) return null
  const did = didOfAgent(site, agent.tail)
  const identity =
    method === ''
      ? '"identityMethod":null,"identityLevel":"unverified"'
      : `"identityMethod":"${method}","identityLevel":"verified"`
  const claimedAt = timestamp(agent.claimedAt)
  const json = `{"verified":${status === 'active'},"owner":{${identity},"claimedAt":"${claimedAt}"},"certificate":{"id":"${did}","status":"${status}","verifyUrl":"/agent/${username || did}"}}`
  return { json, tag: tagOf(did, status, username, method) }
}

/** A slash is in none of the parts: `encodeURIComponent` escapes it, where it would leave a dot. */
function tagOf(did: Did, status: string, username: string, method: string): string {
  return `${did}/${status}/${username}/${method}`
}

/** What a gateway can tell from the identification header alone (contract section 5). */
export function identificationOf(site: Site, view: AgentView, now: number): Identify {
  const lookup = lookupOf(site, view, now)
  const identityLevel = identityLevelOf(view.owner, now)
  return {
    [site.naming.didField]: lookup.certificate.id,
    ...lookup,
    identityLevel,
    suggestedUse: suggestedUse(lookup.verified, identityLevel),
    proofOfPossession: false,
  }
}

function suggestedUse(verified: boolean, identityLevel: string): Identify['suggestedUse'] {
  if (!verified) return 'deny'
  return identityLevel === UNVERIFIED ? 'limited' : 'full'
}
