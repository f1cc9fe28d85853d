import type { OwnerChannel } from '@countersign/protocol'
import type { ReactNode } from 'react'
import type { ChannelStatus } from '../../channels/channel-status.ts'
import { ChannelStatusMark } from '../../channels/channel-status-mark.tsx'
import { ChannelStatusText } from '../../channels/channel-status-text.tsx'
import { NextCheck } from '../../channels/next-check.tsx'
import { DateTime } from '../../components/date-time.tsx'

interface StatusPanelProps {
  readonly channel: OwnerChannel
  readonly channelStatus: ChannelStatus
  readonly byAgent: boolean
}

export function StatusPanel({ channel, channelStatus, byAgent }: StatusPanelProps) {
  const { tier, verifiedAt, checkedAt, nextCheckAt, freshUntil } = channel
  return (
    <section aria-label="Channel status" className="flex flex-col gap-5">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-3">
        <span className="flex min-h-7 items-center">
          <ChannelStatusMark channelStatus={channelStatus} />
        </span>
        <p className="min-w-0 flex-1 basis-72 text-pretty text-lg">
          <ChannelStatusText channel={channel} channelStatus={channelStatus} />
        </p>
      </div>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-4 border-line border-y py-4 sm:grid-cols-4">
        <Detail name="Points">
          Tier {tier}: {tier} of the grade’s 4 points
        </Detail>
        <Detail name="Verified">
          {verifiedAt === null ? 'Not yet' : <DateTime at={verifiedAt} />}
        </Detail>
        <Detail name="Last checked">
          {checkedAt === null ? 'Not yet' : <DateTime at={checkedAt} as="ago" />}
        </Detail>
        {byAgent ? (
          <Detail name="Expires">
            {freshUntil === null ? 'Not yet' : <DateTime at={freshUntil} />}
          </Detail>
        ) : (
          <Detail name="Next check">
            {nextCheckAt === null ? noNextCheckText(channelStatus) : <NextCheck at={nextCheckAt} />}
          </Detail>
        )}
      </dl>
    </section>
  )
}

function noNextCheckText(channelStatus: ChannelStatus): string {
  if (channelStatus === 'revoked') return 'None'
  return channelStatus === 'expired' || channelStatus === 'stale'
    ? 'After you create a new token'
    : 'When you start one'
}

function Detail({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-soft text-sm">{name}</dt>
      <dd className="mt-0.5 text-pretty first-letter:uppercase">{children}</dd>
    </div>
  )
}
