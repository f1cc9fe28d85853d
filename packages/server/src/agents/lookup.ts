import type { Identify, Lookup } from '@countersign/protocol'
import { identityLevelOf, identityMethodOf, UNVERIFIED } from '../accounts/identity-of-owner.ts'
import { certificatePath, didOfAgent, type Site } from '../base/site.ts'
import { timestamp } from '../base/timestamp.ts'
import type { AgentView } from './agent-record.ts'

/** The response to a lookup (contract 4.1). */
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
 * The entity tag (RFC 9110 section 8.8.3) of a lookup response, without quotes. Different responses for the same URL have
 * different tags. The time of the claim is not part of it because it never changes for a DID.
 */
export function lookupTag({ owner, certificate }: Lookup): string {
  return tagOf(certificate, encodeURIComponent(owner.identityMethod ?? ''))
}

/** A serialized response to a lookup. */
export interface LookupText {
  /** ASCII only. */
  readonly json: string
  /** The entity tag, without quotes. */
  readonly tag: string
}

/** The characters of provider ids. Neither JSON nor an entity tag escapes them. */
const UNESCAPED = /^[a-z0-9-]*$/

/**
 * The same bytes and tag as `JSON.stringify` of `lookupOf` and `lookupTag`, in a quarter of the time.
 * @returns null if the provider's id needs escaping
 */
export function lookupText(site: Site, view: AgentView, now: number): LookupText | null {
  const lookup = lookupOf(site, view, now)
  const { verified, owner, certificate } = lookup
  const method = owner.identityMethod ?? ''
  if (!UNESCAPED.test(method)) return null
  const identityMethod = method === '' ? 'null' : `"${method}"`
  const json = `{"verified":${verified},"owner":{"identityMethod":${identityMethod},"identityLevel":"${owner.identityLevel}","claimedAt":"${owner.claimedAt}"},"certificate":{"id":"${certificate.id}","status":"${certificate.status}","verifyUrl":"${certificate.verifyUrl}"}}`
  return { json, tag: tagOf(certificate, method) }
}

/** Slashes separate the parts because `encodeURIComponent` escapes them, so no part can contain one. */
function tagOf({ id, status }: Lookup['certificate'], method: string): string {
  return `${id}/${status}/${method}`
}

/** What the identification header alone says about an agent, without proof of possession (contract section 5). */
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
