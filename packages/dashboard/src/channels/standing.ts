import type { OwnerChannel, SessionState } from '@countersign/protocol'

type ChannelNote = SessionState['channelNotes'][number]

/**
 * How a channel stands, as its owner has to know it. `open`: to be proven; `over`: the token has run out; `failing`: it counts,
 * but its proof is missing; `ending`: it counts, but not for long; `ended`: the agent is revoked.
 */
export type Standing = 'open' | 'over' | 'verified' | 'failing' | 'ending' | 'stale' | 'ended'

/** @param notes what the service says of channels that need their owner: when an end is near is for it to say */
export function standingOf(channel: OwnerChannel, notes: readonly ChannelNote[]): Standing {
  const { state, proof, failingSince, label, handleOrDomain } = channel
  if (state === 'pending') return proof === null ? 'over' : 'open'
  if (state === 'stale') return 'stale'
  if (failingSince !== null) return 'failing'
  const ending = notes.some(
    (each) =>
      each.trouble === 'ending' && each.label === label && each.handleOrDomain === handleOrDomain,
  )
  return ending ? 'ending' : 'verified'
}
