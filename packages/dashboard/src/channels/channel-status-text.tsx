import type { OwnerChannel } from '@countersign/protocol'
import type { ReactNode } from 'react'
import { DateTime } from '../components/date-time.tsx'
import { type ChannelStatus, useFailureDate } from './channel-status.ts'

interface ChannelStatusTextProps {
  readonly channel: OwnerChannel
  readonly channelStatus: ChannelStatus
}

/** Explains the status and what the owner has to do. */
export function ChannelStatusText({ channel, channelStatus }: ChannelStatusTextProps): ReactNode {
  const { proof, freshUntil, failingSince, staleSince } = channel
  const failsAt = useFailureDate(channel)
  switch (channelStatus) {
    case 'pending':
      return (
        <>
          It counts for the grade once it is verified.
          {proof && (
            <>
              {' '}
              Complete by <DateTime at={proof.expiresAt} />.
            </>
          )}
        </>
      )
    case 'expired':
      return 'The channel was not verified in time. Start again.'
    case 'verified':
      return freshUntil && <Until at={freshUntil} />
    case 'ending':
      return <>{freshUntil && <Until at={freshUntil} />} Renew it before then.</>
    case 'failing':
      return (
        <>
          The proof has been missing since {failingSince && <DateTime at={failingSince} />}. Restore
          or renew it
          {failsAt ? (
            <>
              {' '}
              before <DateTime at={failsAt} />
            </>
          ) : (
            ' soon'
          )}{' '}
          to keep the channel verified.
        </>
      )
    case 'revoked':
      return 'The agent is revoked. The channel is no longer checked.'
    case 'stale':
      return (
        <>
          It has not been verified since {staleSince && <DateTime at={staleSince} />}. The
          certificate does not show it. Verify it again.
        </>
      )
  }
}

function Until({ at }: { readonly at: string }) {
  return (
    <>
      Expires on <DateTime at={at} />.
    </>
  )
}
