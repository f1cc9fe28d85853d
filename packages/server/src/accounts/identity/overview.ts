import {
  type ChannelEvidence,
  CodedError,
  type Grade,
  gradeOf,
  type Identity,
  type IdentityProviderCard,
  isCurrent,
  type OwnerVerification,
  strongestVerification,
  type VerificationEvidence,
} from '@countersign/protocol'
import type { Site } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { Database, Db } from '../../database/database.ts'
import { providerLabel, UNVERIFIED } from '../identity-of-owner.ts'
import { ownerById } from '../owner-table.ts'
import { type IdentityProvider, verifiesKind } from '../providers/provider.ts'
import type { Providers } from '../providers/providers.ts'
import { evidenceOfVerification, verificationsOfOwner } from '../verification-table.ts'

const DAY_MS = 86_400_000

export interface OverviewDeps {
  readonly db: Database
  readonly site: Site
  readonly providers: Providers
  readonly now: () => number
  readonly channelsOfActiveAgents: (db: Db, ownerId: number) => Promise<ActiveAgents>
}

/**
 * The response of `GET /api/identity`: an owner's verifications, the effect of removing each, and the configured providers that
 * verify owners of this kind.
 */
export async function identityOverview(deps: OverviewDeps, ownerId: number): Promise<Identity> {
  const owner = await ownerById(deps.db.read, ownerId)
  return {
    providers: deps.providers.all
      .filter((each) => verifiesKind(each, owner?.kind))
      .map(describeProvider),
    verifications: await describeVerifications(deps, ownerId),
  }
}

/**
 * An owner's verification by one provider.
 * @throws CodedError NOT_FOUND if there is none
 */
export async function verificationByProvider(
  deps: OverviewDeps,
  ownerId: number,
  provider: string,
): Promise<OwnerVerification> {
  const all = await describeVerifications(deps, ownerId)
  const found = all.find((each) => each.provider === provider)
  if (found !== undefined) return found
  throw new CodedError('NOT_FOUND', 'You are not verified by this identity provider.')
}

function describeProvider(provider: IdentityProvider): IdentityProviderCard {
  const { id, label, kind, assurance, unique, verifiesName, proves, selfService, validForMs } =
    provider
  const validForDays = validForMs === null ? null : Math.round(validForMs / DAY_MS)
  return { id, label, kind, assurance, unique, verifiesName, proves, validForDays, selfService }
}

async function describeVerifications(
  { db, site, now, channelsOfActiveAgents }: OverviewDeps,
  ownerId: number,
): Promise<OwnerVerification[]> {
  const rows = await verificationsOfOwner(db.read, ownerId)
  const verifications = rows.map(evidenceOfVerification)
  const agents = verifications.length === 0 ? [] : await channelsOfActiveAgents(db.read, ownerId)
  const at = now()
  return verifications.map((each, i) => ({
    provider: each.provider,
    label: providerLabel(site, each.provider),
    assurance: each.assurance,
    verifiedAt: timestamp(each.verifiedAt),
    expiresAt: asTimestamp(each.expiresAt),
    expired: !isCurrent(each, at),
    publishedName: rows[i]?.published_name ?? null,
    renewFrom: asTimestamp(renewFrom(each)),
    ifRemoved: removalEffect(verifications, each.provider, agents, at),
  }))
}

function asTimestamp(time: number | null): string | null {
  return time === null ? null : timestamp(time)
}

/** The channels of each of an owner's active agents. */
type ActiveAgents = readonly (readonly ChannelEvidence[])[]

/** How removing the verification of one provider would change an owner's agents. */
function removalEffect(
  verifications: readonly VerificationEvidence[],
  provider: string,
  agents: ActiveAgents,
  now: number,
): OwnerVerification['ifRemoved'] {
  const left = verifications.filter((each) => each.provider !== provider)
  return {
    canClaim: left.some((each) => isCurrent(each, now)),
    identityLevel: strongestVerification(left, now)?.provider ?? UNVERIFIED,
    activeAgents: agents.length,
    grades: gradeChanges(agents, verifications, left, now),
  }
}

function gradeChanges(
  agents: ActiveAgents,
  before: readonly VerificationEvidence[],
  after: readonly VerificationEvidence[],
  now: number,
) {
  const counts = new Map<string, { from: Grade; to: Grade; agents: number }>()
  for (const channels of agents) {
    const [from, to] = [before, after].map(
      (verifications) => gradeOf({ status: 'active', verifications, channels, now }).grade,
    ) as [Grade, Grade]
    if (from === to) continue
    const change = counts.get(from + to) ?? { from, to, agents: 0 }
    counts.set(from + to, { ...change, agents: change.agents + 1 })
  }
  return [...counts.values()].sort((a, b) => (a.from < b.from ? -1 : 1))
}

/** Renewal is due 30 days before expiry, or in the last fifth of the validity if that is shorter. */
const RENEWAL_MS = 30 * 86_400_000
const RENEWAL_SHARE = 0.2

/** When renewal becomes due, in milliseconds since the Unix epoch; null if the verification does not expire. */
function renewFrom({ verifiedAt, expiresAt }: VerificationEvidence): number | null {
  if (expiresAt === null) return null
  const leadMs = Math.min(RENEWAL_MS, (expiresAt - verifiedAt) * RENEWAL_SHARE)
  return expiresAt - Math.floor(leadMs)
}

/**
 * The verification that the owner should renew: the strongest current one if it expires soon, or, if none is current,
 * the one that expired last.
 * @param now milliseconds since the Unix epoch
 * @returns null if no renewal is due
 */
export function dueRenewal(
  verifications: readonly VerificationEvidence[],
  now: number,
): VerificationEvidence | null {
  const strongest = strongestVerification(verifications, now)
  if (strongest === null) return expiredLast(verifications)
  const from = renewFrom(strongest)
  return from !== null && from <= now ? strongest : null
}

function expiredLast(verifications: readonly VerificationEvidence[]): VerificationEvidence | null {
  return verifications.reduce<VerificationEvidence | null>(
    (last, each) => (last === null || expiryOf(each) > expiryOf(last) ? each : last),
    null,
  )
}

function expiryOf({ expiresAt }: VerificationEvidence): number {
  return expiresAt ?? Number.POSITIVE_INFINITY
}
