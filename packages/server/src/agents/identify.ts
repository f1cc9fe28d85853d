import type { Identify } from '@countersign/protocol'
import type { Site } from '../core/site.ts'
import type { AgentView } from './agent-record.ts'
import { identityLevelOf, UNVERIFIED } from './identity-of-owner.ts'
import { lookupOf } from './lookup.ts'

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
