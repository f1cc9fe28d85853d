import type { OwnerAgent, OwnerChannel } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import { type Standing, standingOf } from './standing.ts'

/** How a channel of an agent stands. */
export function useStanding(
  did: string,
  { status }: OwnerAgent,
): (channel: OwnerChannel) => Standing {
  const notes = useQuery(sessionQuery).data?.channelNotes ?? []
  const own = notes.filter(({ tail }) => did.endsWith(tail))
  return (channel) => (status === 'revoked' ? 'ended' : standingOf(channel, own))
}
