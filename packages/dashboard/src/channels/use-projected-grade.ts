import {
  type ChannelEvidence,
  type Grade,
  gradeOf,
  type OwnerAgent,
  type OwnerChannel,
  type Tier,
} from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { evidenceOf } from '../agents/grade-with-owner.ts'
import { identityQuery } from '../api/queries.ts'
import { channelsQuery } from './queries.ts'

interface ProjectedGrade {
  /** The current grade. */
  readonly now: Grade
  /** The grade with one more channel of the tier. */
  withTier(tier: number): Grade
  /** The grade without an existing channel. */
  without(channel: OwnerChannel): Grade
}

/**
 * Predicts an agent's grade with the same function as the service.
 * @returns null while data is loading
 */
export function useProjectedGrade(did: string, { status }: OwnerAgent): ProjectedGrade | null {
  const identity = useQuery(identityQuery).data
  const channels = useQuery(channelsQuery(did)).data?.channels
  if (identity === undefined || channels === undefined) return null

  const verifications = evidenceOf(identity)
  const gradeWith = (channels: readonly ChannelEvidence[]) =>
    gradeOf({ status, verifications, channels, now: Date.now() }).grade
  const proven = channels.filter(({ state }) => state === 'verified')

  return {
    now: gradeWith(proven.map(channelFactOf)),
    withTier: (tier) => gradeWith([...proven.map(channelFactOf), another(tier === 2 ? 2 : 1)]),
    without: ({ id }) => gradeWith(proven.filter((each) => each.id !== id).map(channelFactOf)),
  }
}

function channelFactOf({
  kind,
  handleOrDomain,
  tier,
  checkedAt,
  freshUntil,
}: OwnerChannel): ChannelEvidence {
  return {
    kind,
    handleOrDomain,
    tier: tier === 2 ? 2 : 1,
    checkedAt: checkedAt === null ? 0 : Date.parse(checkedAt),
    freshUntil: freshUntil === null ? null : Date.parse(freshUntil),
  }
}

function another(tier: Tier): ChannelEvidence {
  return { kind: '', handleOrDomain: '', tier, checkedAt: Date.now(), freshUntil: null }
}
