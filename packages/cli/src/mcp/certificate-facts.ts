import { AGENT_STATUSES, type Lookup } from '@countersign/protocol'
import { z } from 'zod'

/** What a lookup says (contract 4.1), as tools give it. Nothing in it is free text of others. */
export const certificateShape = {
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

export function certificateFacts(service: URL, { verified, certificate, owner }: Lookup) {
  const { id, status, verifyUrl } = certificate
  return {
    did: id,
    status,
    verified,
    ownerIdentity: owner.identityLevel,
    identityMethod: owner.identityMethod,
    claimedAt: owner.claimedAt,
    certificateUrl: URL.parse(verifyUrl, service.href)?.href ?? verifyUrl,
  }
}
