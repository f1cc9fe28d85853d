import { isCurrent, strongestVerification, type VerificationFact } from '@countersign/protocol'
import type { Site } from '../core/site.ts'
import type { OwnerRecord } from './agent-record.ts'

/** What relying parties read where an owner has no current verification (contract 4.3). */
export const UNVERIFIED = 'unverified'

/** The provider of the strongest current verification, or null (contract 2.3). */
export function identityMethodOf(owner: OwnerRecord, now: number): string | null {
  const { strongest } = owner
  if (strongest === null) return null
  if (isCurrent(strongest, now)) return strongest.provider
  return strongestVerification(owner.verifications, now)?.provider ?? null
}

/** The same as one word (contract 4.3 `identityLevel`). */
export function identityLevelOf(owner: OwnerRecord, now: number): string {
  return identityMethodOf(owner, now) ?? UNVERIFIED
}

/** The most recent current verification, which the card shows (contract 2.4). */
export function latestVerification(owner: OwnerRecord, now: number): VerificationFact | null {
  const current = owner.verifications.filter((each) => isCurrent(each, now))
  return current.reduce<VerificationFact | null>(
    (latest, each) => (latest === null || each.verifiedAt >= latest.verifiedAt ? each : latest),
    null,
  )
}

/** A provider's name for people, where one is mapped (contract 2.4): as the host has configured it. */
export function providerLabel({ providerLabels }: Site, provider: string): string {
  return providerLabels.get(provider) ?? LABELS[provider] ?? provider
}

/** Of what needs no configuration. */
const LABELS: Readonly<Record<string, string>> = { 'in-person': 'In person' }
