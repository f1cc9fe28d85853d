import {
  CodedError,
  type Identity,
  type IdentityProviderCard,
  isCurrent,
  type OwnerVerification,
} from '@countersign/protocol'
import { agentsOfOwner } from '../agents/agent-table.ts'
import { providerLabel } from '../agents/identity-of-owner.ts'
import { factsOfChannel, factsOfVerification } from '../agents/read-model/rows.ts'
import { provenChannelsOfActive } from '../channels/channel-table.ts'
import type { Database, Db } from '../core/database/database.ts'
import type { Site } from '../core/site.ts'
import { timestamp } from '../core/timestamp.ts'
import type { IdentityProvider } from '../providers/provider.ts'
import type { Providers } from '../providers/providers.ts'
import { type ActiveAgents, removalEffect } from './removal-effect.ts'
import { renewFrom } from './renewal.ts'
import { verificationsOfOwner } from './verification-table.ts'

const DAY_MS = 86_400_000

export interface OverviewDeps {
  readonly db: Database
  readonly site: Site
  readonly providers: Providers
  readonly now: () => number
}

/** An owner's verifications, with what removing each would do, and the providers that there are. */
export async function identityOverview(deps: OverviewDeps, ownerId: number): Promise<Identity> {
  return {
    providers: deps.providers.all.map(cardOfProvider),
    verifications: await verifications(deps, ownerId),
  }
}

/**
 * One of them.
 * @throws CodedError NOT_FOUND where there is none by the provider
 */
export async function verificationBy(
  deps: OverviewDeps,
  ownerId: number,
  provider: string,
): Promise<OwnerVerification> {
  const all = await verifications(deps, ownerId)
  const found = all.find((each) => each.provider === provider)
  if (found !== undefined) return found
  throw new CodedError('NOT_FOUND', 'You are not verified by this identity provider.')
}

function cardOfProvider(provider: IdentityProvider): IdentityProviderCard {
  const { id, label, kind, assurance, unique, proves, selfService, validForMs } = provider
  const validForDays = validForMs === null ? null : Math.round(validForMs / DAY_MS)
  return { id, label, kind, assurance, unique, proves, validForDays, selfService }
}

async function verifications(
  { db, site, now }: OverviewDeps,
  ownerId: number,
): Promise<OwnerVerification[]> {
  const facts = (await verificationsOfOwner(db.read, ownerId)).map(factsOfVerification)
  const agents = facts.length === 0 ? [] : await activeAgents(db.read, ownerId)
  const at = now()
  return facts.map((each) => ({
    provider: each.provider,
    label: providerLabel(site, each.provider),
    assurance: each.assurance,
    verifiedAt: timestamp(each.verifiedAt),
    expiresAt: asTimestamp(each.expiresAt),
    expired: !isCurrent(each, at),
    renewFrom: asTimestamp(renewFrom(each)),
    ifRemoved: removalEffect(facts, each.provider, agents, at),
  }))
}

function asTimestamp(time: number | null): string | null {
  return time === null ? null : timestamp(time)
}

async function activeAgents(db: Db, ownerId: number): Promise<ActiveAgents> {
  const byTail = Map.groupBy(await provenChannelsOfActive(db, ownerId), (each) => each.tail)
  return (await agentsOfOwner(db, ownerId))
    .filter((each) => each.status === 'active')
    .map((each) => (byTail.get(each.tail) ?? []).map(factsOfChannel))
}
