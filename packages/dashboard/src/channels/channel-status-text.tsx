import type { OwnerChannel } from '@countersign/protocol'
import type { ReactNode } from 'react'
import { DateTime } from '../components/date-time.tsx'
import type { ChannelStatus } from './channel-status.ts'

interface ChannelStatusTextProps {
  readonly channel: OwnerChannel
  readonly channelStatus: ChannelStatus
}

/** Explains the status and what the owner has to do. */
export function ChannelStatusText({ channel, channelStatus }: ChannelStatusTextProps): ReactNode {
  const { proof, freshUntil, failingSince, staleSince } = channel
  switch (channelStatus) {
    case 'pending':
      return (
        <>
          It counts once it is proven.
          {proof && (
            <>
              {' '}
              There is time until <DateTime at={proof.expiresAt} />.
            </>
          )}
        </>
      )
    case 'expired':
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
          What proved it has not been found since {failingSince && <DateTime at={failingSince} />}.
          Put it back, or prove the channel anew: about three days after that, it counts no more.
        </>
      )
    case 'revoked':
      return 'The agent is revoked: it counts for nothing, and is looked for no more.'
    case 'stale':
      return (
        <>
          Since {staleSince && <DateTime at={staleSince} />} it counts for nothing, and is shown
          nowhere. Prove it anew.
        </>
      )
  }
}

function Until({ at }: { readonly at: string }) {
  return (
    <>
      It counts until <DateTime at={at} />.
    </>
  )
}
