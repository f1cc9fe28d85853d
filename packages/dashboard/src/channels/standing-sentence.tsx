import type { OwnerChannel } from '@countersign/protocol'
import type { ReactNode } from 'react'
import { Moment } from '../parts/moment.tsx'
import type { Standing } from './standing.ts'

interface StandingSentenceProps {
  readonly channel: OwnerChannel
  readonly standing: Standing
}

/** What an owner has to know of a channel at present, and to do. */
export function StandingSentence({ channel, standing }: StandingSentenceProps): ReactNode {
  const { proof, freshUntil, failingSince, staleSince } = channel
  switch (standing) {
    case 'open':
      return (
        <>
          It counts once it is proven.
          {proof && (
            <>
              {' '}
              There is time until <Moment at={proof.expiresAt} />.
            </>
          )}
        </>
      )
    case 'over':
      return 'The time to prove it is over. Begin anew.'
    case 'verified':
      return freshUntil && <Until at={freshUntil} />
    case 'ending':
      return (
        <>
          {freshUntil && <Until at={freshUntil} />} Prove it anew before then, and it goes on
          counting.
        </>
      )
    case 'failing':
      return (
        <>
          What proved it has not been found since {failingSince && <Moment at={failingSince} />}.
          Put it back, or prove the channel anew: about three days after that, it counts no more.
        </>
      )
    case 'ended':
      return 'The agent is revoked: it counts for nothing, and is looked for no more.'
    case 'stale':
      return (
        <>
          Since {staleSince && <Moment at={staleSince} />} it counts for nothing, and is shown
          nowhere. Prove it anew.
        </>
      )
  }
}

function Until({ at }: { readonly at: string }) {
  return (
    <>
      It counts until <Moment at={at} />.
    </>
  )
}
