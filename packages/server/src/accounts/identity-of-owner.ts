import { isCurrent, strongestVerification, type VerificationEvidence } from '@countersign/protocol'
import type { Site } from '../base/site.ts'
import { ORGANISATION_DOMAIN } from './verification-table.ts'

/** The verifications of an owner. */
interface VerifiedOwner {
  /** Oldest first. May include expired ones. */
  readonly verifications: readonly VerificationEvidence[]
  /** The strongest of them, expired or not. */
  readonly strongest: VerificationEvidence | null
}

/** The identity level of an owner without a current verification (contract 4.3). */
export const UNVERIFIED = 'unverified'

/** The provider of the strongest current verification, or null (contract 2.3). */
export function identityMethodOf(owner: VerifiedOwner, now: number): string | null {
  const { strongest } = owner
  if (strongest === null) return null
  if (isCurrent(strongest, now)) return strongest.provider
  return strongestVerification(owner.verifications, now)?.provider ?? null
}

/** The provider of the strongest current verification, or `unverified` (contract 4.3 `identityLevel`). */
export function identityLevelOf(owner: VerifiedOwner, now: number): string {
  return identityMethodOf(owner, now) ?? UNVERIFIED
}

/** The most recent current verification, or null. The card shows this one (contract 2.4). */
export function latestVerification(
  { verifications }: Pick<VerifiedOwner, 'verifications'>,
  now: number,
): VerificationEvidence | null {
  const current = verifications.filter((each) => isCurrent(each, now))
  return current.reduce<VerificationEvidence | null>(
    (latest, each) => (latest === null || each.verifiedAt >= latest.verifiedAt ? each : latest),
    null,
  )
}

/** A provider's display name (contract 2.4): the operator's setting, else the built-in name, else the provider's id. */
export function providerLabel({ providerLabels }: Site, provider: string): string {
  return providerLabels.get(provider) ?? BUILT_IN_LABELS[provider] ?? provider
}

/** Names that owners must not give to themselves or their agents: of the service, and of its identity providers. */
export function reservedNames({
  serviceName,
  site,
}: {
  readonly serviceName: string
  readonly site: Site
}): string[] {
  return [serviceName, ...site.providerLabels.values()]
}

/** The providers for development, which accept any name. No operator can configure another provider under these ids. */
export const DEVELOPMENT_LABELS = {
  'dev-low': 'Development, low assurance',
  'dev-substantial': 'Development, substantial assurance',
  'dev-high': 'Development, high assurance',
  'dev-organisation': 'Development, organisation',
} as const

export type DevelopmentProvider = keyof typeof DEVELOPMENT_LABELS

/**
 * Whether a verification by this provider proves nothing. Decided by the id, since a database may have been used in
 * development before.
 */
export function isDevelopmentProvider(provider: string): provider is DevelopmentProvider {
  return Object.hasOwn(DEVELOPMENT_LABELS, provider)
}

/** For providers that need no configuration. */
const BUILT_IN_LABELS: Readonly<Record<string, string>> = {
  'in-person': 'In person',
  [ORGANISATION_DOMAIN]: 'Domain',
  ...DEVELOPMENT_LABELS,
}
