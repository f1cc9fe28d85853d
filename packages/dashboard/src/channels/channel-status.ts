import type { OwnerAgent, OwnerChannel, SessionState } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/queries.ts'

type ChannelNote = SessionState['channelNotes'][number]

/**
 * The status of a channel as its owner sees it. `pending`: not verified yet. `expired`: not verified before the token
 * expired. `failing`: verified, but the last checks did not find the proof. `ending`: verified, but expires soon.
 * `revoked`: the agent is revoked.
 */
export type ChannelStatus =
  | 'pending'
  | 'expired'
  | 'verified'
  | 'failing'
  | 'ending'
  | 'stale'
  | 'revoked'

/** @param notes the channels that need the owner's attention. The service decides when a channel is `ending`. */
function channelStatusOf(channel: OwnerChannel, notes: readonly ChannelNote[]): ChannelStatus {
  const { state, proof, failingSince, label, handleOrDomain } = channel
  if (state === 'pending') return proof === null ? 'expired' : 'pending'
  if (state === 'stale') return 'stale'
  if (failingSince !== null) return 'failing'
  const ending = notes.some(
    (each) =>
      each.trouble === 'ending' && each.label === label && each.handleOrDomain === handleOrDomain,
  )
  return ending ? 'ending' : 'verified'
}

export function useChannelStatus(
  did: string,
  { status }: OwnerAgent,
): (channel: OwnerChannel) => ChannelStatus {
  const notes = useQuery(sessionQuery).data?.channelNotes ?? []
  const own = notes.filter(({ tail }) => did.endsWith(tail))
  return (channel) => (status === 'revoked' ? 'revoked' : channelStatusOf(channel, own))
}

/** When a channel whose proof is missing stops being verified, as the note on every page says it; null if there is no such note. */
export function useFailureDate({
  label,
  handleOrDomain,
  failingSince,
}: OwnerChannel): string | null {
  const notes = useQuery(sessionQuery).data?.channelNotes ?? []
  if (failingSince === null) return null
  const note = notes.find(
    (each) =>
      each.trouble === 'failing' && each.label === label && each.handleOrDomain === handleOrDomain,
  )
  return note?.until ?? null
}
