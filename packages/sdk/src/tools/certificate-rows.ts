import type { Registry } from '../registry.ts'
import type { AgentKeys, AgentStatus, Lookup } from '../responses/types.ts'
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

/** The rows that show a certificate. */
export function certificateRows(service: URL, lookup: Lookup): Field[] {
  const { certificate, owner } = lookup
  const { identityMethod, claimedAt } = owner
  return [
    ['DID', certificate.id],
    ['Status', STATUS_WORDS[certificate.status]],
    ['Owner', identityMethod === null ? 'identity not verified' : `verified by ${identityMethod}`],
    ['Claimed', formatMinute(claimedAt)],
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
