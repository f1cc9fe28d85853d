import type { Registry } from '../registry.ts'
import type { AgentKeys, AgentObject, AgentStatus, Lookup } from '../responses/types.ts'
import { formatMinute } from './dates.ts'
import { codeOf, Failure } from './failure.ts'
import type { Field } from './fields.ts'

/** Each status in words. */
export const STATUS_WORDS: Readonly<Record<AgentStatus, string>> = {
  active: 'active',
  suspended: 'suspended (temporarily not valid)',
  revoked: 'revoked (permanently not valid)',
}

/** The absolute URL of the certificate page. */
export function certificateUrl(service: URL, { certificate }: Lookup): string {
  const { verifyUrl } = certificate
  return URL.parse(verifyUrl, service.href)?.href ?? verifyUrl
}

/** What the agent object says about the owner, and a lookup does not. */
export type OwnerDetails = Pick<AgentObject, 'ownerKind' | 'ownerChangedAt'>

/** @throws CountersignError of `Registry.agent` */
export async function ownerDetails(registry: Registry, did: string): Promise<OwnerDetails> {
  const { ownerKind, ownerChangedAt } = await registry.agent(did)
  return {
    ...(ownerKind !== undefined && { ownerKind }),
    ...(ownerChangedAt !== undefined && { ownerChangedAt }),
  }
}

/** The rows that show a certificate. */
export function certificateRows(
  service: URL,
  lookup: Lookup,
  { ownerKind, ownerChangedAt }: OwnerDetails,
): Field[] {
  const { certificate, owner } = lookup
  const { identityMethod, claimedAt } = owner
  return [
    ['DID', certificate.id],
    ['Status', STATUS_WORDS[certificate.status]],
    ['Owner', identityMethod === null ? 'identity not verified' : `verified by ${identityMethod}`],
    ...(ownerKind === undefined ? [] : [['Owner kind', ownerKind] as const]),
    ['Claimed', formatMinute(claimedAt)],
    ...(ownerChangedAt === undefined
      ? []
      : [['Owner since', formatMinute(ownerChangedAt)] as const]),
    ['Certificate', certificateUrl(service, lookup)],
  ]
}

/**
 * The rows that show a pending recovery; none if there is none.
 * @param veto the command that ends it
 */
export function recoveryRows(recovery: AgentKeys['recovery'], veto: string): Field[] {
  if (recovery === null) return []
  const { reason, effectiveAt } = recovery
  const when =
    effectiveAt === null ? 'not redeemed yet' : `takes effect on ${formatMinute(effectiveAt)}`
  const rows: Field[] = [['Recovery', `${reason}, ${when}`]]
  return reason === 'key_lost' ? [...rows, ['To stop it', veto]] : rows
}

/**
 * The certificate of the agent's own key.
 * @param publicKey 32 bytes in padded standard base64
 * @param command how its user runs `countersign`
 * @throws Failure NOT_FOUND with the next step; CountersignError of `Registry.lookup`
 */
export async function ownCertificate(
  registry: Registry,
  publicKey: string,
  command: string,
): Promise<Lookup> {
  try {
    return await registry.lookup(publicKey)
  } catch (cause) {
    if (codeOf(cause) !== 'NOT_FOUND') throw cause
    throw new Failure(
      'NOT_FOUND',
      `Your key ${publicKey} has no certificate at ${registry.service}. Ask the owner for a claim token, then run: ${command} claim <token>`,
      { cause },
    )
  }
}
