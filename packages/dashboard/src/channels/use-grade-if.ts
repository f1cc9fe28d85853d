import {
  type ChannelFact,
  type Grade,
  gradeOf,
  type OwnerAgent,
  type OwnerChannel,
  type Tier,
} from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { identityQuery } from '../api/identity.ts'
import { channelsQuery } from './queries.ts'

interface GradeIf {
  /** What it is. */
  readonly now: Grade
  /** With another channel of that tier. */
  withTier(tier: number): Grade
  /** Without one that is there. */
  without(channel: OwnerChannel): Grade
}

/** What would become of an agent's grade, by the same function as the service's; null until all that it takes is known. */
export function useGradeIf(did: string, { status }: OwnerAgent): GradeIf | null {
  const identity = useQuery(identityQuery).data
  const channels = useQuery(channelsQuery(did)).data?.channels
  if (identity === undefined || channels === undefined) return null

  const verifications = identity.verifications.map(
    ({ provider, assurance, verifiedAt, expiresAt }) => ({
      provider,
      assurance,
      verifiedAt: Date.parse(verifiedAt),
      expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
    }),
  )
  const gradeWith = (facts: readonly ChannelFact[]) =>
    gradeOf({ status, verifications, channels: facts, now: Date.now() }).grade
  const proven = channels.filter(({ state }) => state === 'verified')

  return {
    now: gradeWith(proven.map(factOf)),
    withTier: (tier) => gradeWith([...proven.map(factOf), another(tier === 2 ? 2 : 1)]),
    without: ({ id }) => gradeWith(proven.filter((each) => each.id !== id).map(factOf)),
  }
}

function factOf({ kind, handleOrDomain, tier, checkedAt, freshUntil }: OwnerChannel): ChannelFact {
  return {
    kind,
    handleOrDomain,
    tier: tier === 2 ? 2 : 1,
    checkedAt: checkedAt === null ? 0 : Date.parse(checkedAt),
    freshUntil: freshUntil === null ? null : Date.parse(freshUntil),
  }
}

function another(tier: Tier): ChannelFact {
  return { kind: '', handleOrDomain: '', tier, checkedAt: Date.now(), freshUntil: null }
}
