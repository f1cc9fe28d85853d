import type { OwnerChannel } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import { useId } from 'react'
import { useMay } from '../../api/use-may.ts'
import type { ChannelStatus } from '../../channels/channel-status.ts'
import { ChannelStatusMark } from '../../channels/channel-status-mark.tsx'
import { ChannelStatusText } from '../../channels/channel-status-text.tsx'
import { NextCheck } from '../../channels/next-check.tsx'
import { buttonClass } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'

/** The link's text, which names the next action. */
const NEXT_ACTION: Readonly<Record<ChannelStatus, string>> = {
  pending: 'Verify',
  expired: 'Try again',
  verified: 'Details',
  failing: 'Restore proof',
  ending: 'Renew',
  stale: 'Verify again',
  revoked: 'Details',
}

interface ChannelItemProps {
  readonly did: string
  readonly channel: OwnerChannel
  readonly channelStatus: ChannelStatus
}

export function ChannelItem({ did, channel, channelStatus }: ChannelItemProps) {
  const { id, label, handleOrDomain, checkedAt, nextCheckAt } = channel
  const heading = useId()
  const may = useMay()
  const action = may('manager') ? NEXT_ACTION[channelStatus] : 'Details'
  return (
    <li aria-labelledby={heading} className="flex flex-col gap-3 py-5 last:pb-0">
      <p className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <span className="text-soft">{label}</span>
        <ChannelStatusMark channelStatus={channelStatus} />
      </p>
      <div className="flex flex-col gap-1">
        <h3 id={heading} className="font-semibold text-lg/7 wrap-break-word">
          {handleOrDomain}
        </h3>
        <p className="text-pretty">
          <ChannelStatusText channel={channel} channelStatus={channelStatus} />
        </p>
        <p className="text-soft text-sm">
          {checkedAt !== null && (
            <>
              Last checked <DateTime at={checkedAt} as="ago" />.
            </>
          )}
          {nextCheckAt !== null && (
            <>
              {' '}
              Next check <NextCheck at={nextCheckAt} />.
            </>
          )}
        </p>
      </div>
      <Link
        to="/agents/$did/channels/$channel"
        params={{ did, channel: id }}
        aria-label={`${action}: ${handleOrDomain}`}
        className={`self-start ${buttonClass(action === 'Details' ? 'secondary' : 'primary', 'small')}`}
      >
        {action}
      </Link>
    </li>
  )
}
