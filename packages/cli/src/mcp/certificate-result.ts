import { AGENT_STATUSES } from '@countersign/protocol'
import type { Lookup } from '@countersign/sdk'
import { z } from 'zod'
import { certificateUrl } from '../certificate.ts'

/** The output of tools for a lookup (contract 4.1). It contains no free text by others. */
export const certificateSchema = {
  did: z.string(),
  status: z.enum(AGENT_STATUSES).describe('Anything but active: do not rely on it'),
  verified: z.boolean().describe('Whether the certificate is active. Not that its owner is known'),
  ownerIdentity: z
    .enum(['verified', 'unverified'])
    .describe('Whether the owner has proved who they are'),
  identityMethod: z.string().nullable().describe('By which identity provider'),
  claimedAt: z.string(),
  certificateUrl: z.string().describe('The public certificate page'),
}

/** A lookup in the form of `certificateSchema`. */
export function certificateResult(service: URL, lookup: Lookup) {
  const { verified, certificate, owner } = lookup
  return {
    did: certificate.id,
    status: certificate.status,
    verified,
    ownerIdentity: owner.identityLevel,
    identityMethod: owner.identityMethod,
    claimedAt: owner.claimedAt,
    certificateUrl: certificateUrl(service, lookup),
  }
}
