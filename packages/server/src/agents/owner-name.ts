import {
  type CompactCard,
  isCurrent,
  type OwnerName,
  strongestVerification,
} from '@countersign/protocol'
import {
  isDevelopmentProvider,
  latestVerification,
  providerLabel,
} from '../accounts/identity-of-owner.ts'
import type { Site } from '../base/site.ts'
import { timestamp } from '../base/timestamp.ts'
import type { OwnerRecord } from './agent-record.ts'

/** For how long a change of the name is shown: the verification may be older than the name. */
const CHANGE_SHOWN_MS = 90 * 86_400_000

/** What is known about an owner's name; null if the account is deleted. */
export function ownerNameOf(site: Site, owner: OwnerRecord, now: number): OwnerName | null {
  if (owner.deleted) return null
  const { nameChangedAt: changedAt } = owner
  const isShown = changedAt !== null && now - changedAt < CHANGE_SHOWN_MS
  return {
    selfDeclared: true,
    changedAt: isShown ? timestamp(changedAt) : null,
    verified: verifiedNameOf(site, owner, now),
  }
}

/** The published name of the strongest current verification that has one, or null. */
function verifiedNameOf(site: Site, owner: OwnerRecord, now: number): OwnerName['verified'] {
  const { publishedNames, verifications } = owner
  if (publishedNames.size === 0) return null
  const named = verifications.filter(({ provider }) => publishedNames.has(provider))
  const strongest = strongestVerification(named, now)
  if (strongest === null) return null
  const { provider, verifiedAt } = strongest
  return {
    name: publishedNames.get(provider) as string,
    provider,
    label: providerLabel(site, provider),
    verifiedAt: timestamp(verifiedAt),
  }
}

/** Whether a verification that cards or the grade rest on was made by a provider for development, which accepts any name. */
function isDevelopmentOnly(owner: OwnerRecord, now: number): boolean {
  const { verifications } = owner
  // Most owners have no such verification: spares the search for the strongest one.
  if (!verifications.some((each) => isDevelopmentProvider(each.provider) && isCurrent(each, now)))
    return false
  return [strongestVerification(verifications, now), latestVerification(owner, now)].some(
    (each) => each !== null && isDevelopmentProvider(each.provider),
  )
}

/** The additive member of cards that marks verifications by a provider for development; nothing if there are none. */
export function developmentMark(
  owner: OwnerRecord,
  now: number,
): Pick<CompactCard, 'developmentOnly'> {
  return isDevelopmentOnly(owner, now) ? { developmentOnly: true } : {}
}
