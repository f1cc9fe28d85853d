import { AGENT_STATUSES } from '@countersign/protocol'
import { z } from 'zod'
import type { Lookup } from '../responses/types.ts'
import { certificateUrl, type OwnerDetails } from './certificate-rows.ts'

/** The output of tools for a lookup (contract 4.1). It contains no free text by others. */
export const certificateSchema = {
  did: z.string(),
  status: z.enum(AGENT_STATUSES).describe('If it is not active, do not rely on the agent'),
  verified: z
    .boolean()
    .describe('Whether the certificate is active. It does not mean that the owner is verified'),
  ownerIdentity: z
    .enum(['verified', 'unverified'])
    .describe("Whether the owner's identity is verified"),
  identityMethod: z.string().nullable().describe('The identity provider'),
  ownerKind: z.literal('organisation').nullable().describe('Null: a person'),
  claimedAt: z.string(),
  ownerChangedAt: z
    .string()
    .nullable()
    .describe('When the agent last moved to another owner. Null: it never did'),
  certificateUrl: z.string().describe('The public certificate page'),
}

/** A lookup in the form of `certificateSchema`. */
export function certificateResult(
  service: URL,
  lookup: Lookup,
  { ownerKind, ownerChangedAt }: OwnerDetails,
) {
  const { verified, certificate, owner } = lookup
  return {
    did: certificate.id,
    status: certificate.status,
    verified,
    ownerIdentity: owner.identityLevel,
    identityMethod: owner.identityMethod,
    ownerKind: ownerKind ?? null,
    claimedAt: owner.claimedAt,
    ownerChangedAt: ownerChangedAt ?? null,
    certificateUrl: certificateUrl(service, lookup),
  }
}
