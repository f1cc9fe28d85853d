import type { Identify, Lookup } from '@countersign/protocol'
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
 * An entity tag (RFC 9110 section 8.8.3) of an answer, without quotes. It differs wherever two answers under the same
 * address do; the time of the claim never changes for a DID.
 */
export function lookupTag({ owner, certificate }: Lookup, { agent }: AgentView): string {
  const username = encodeURIComponent(agent.profile.username ?? '')
  const method = encodeURIComponent(owner.identityMethod ?? '')
  return tagOf(certificate, username, method)
}

/** An answer to a lookup, as it is sent. */
export interface LookupText {
  /** ASCII. */
  readonly json: string
  readonly tag: string
}

/** What usernames and provider ids consist of: neither JSON nor an entity tag has to escape it. */
const WORD = /^[a-z0-9-]*$/

/**
 * The answer to a lookup in the bytes that `JSON.stringify` makes of it, and its tag, in a quarter of the time.
 * @returns null if a name would have to be escaped
 */
export function lookupText(site: Site, view: AgentView, now: number): LookupText | null {
  const lookup = lookupOf(site, view, now)
  const { verified, owner, certificate } = lookup
  const username = view.agent.profile.username ?? ''
  const method = owner.identityMethod ?? ''
  if (!WORD.test(username) || !WORD.test(method)) return null
  const identityMethod = method === '' ? 'null' : `"${method}"`
  const json = `{"verified":${verified},"owner":{"identityMethod":${identityMethod},"identityLevel":"${owner.identityLevel}","claimedAt":"${owner.claimedAt}"},"certificate":{"id":"${certificate.id}","status":"${certificate.status}","verifyUrl":"${certificate.verifyUrl}"}}`
  return { json, tag: tagOf(certificate, username, method) }
}

/** A slash separates the parts because `encodeURIComponent` escapes it, unlike a dot. */
function tagOf({ id, status }: Lookup['certificate'], username: string, method: string): string {
  return `${id}/${status}/${username}/${method}`
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
