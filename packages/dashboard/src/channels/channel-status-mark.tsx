import type { ChannelStatus } from './channel-status.ts'
import { Icon, type IconName } from './icon.tsx'

interface Style {
  readonly text: string
  readonly icon: IconName
  readonly colours: string
}

const STYLES: Readonly<Record<ChannelStatus, Style>> = {
  pending: { text: 'Pending', icon: 'ring', colours: 'bg-accent-wash text-accent' },
  expired: { text: 'Expired', icon: 'clock', colours: 'bg-sunken text-soft' },
  verified: { text: 'Verified', icon: 'tick', colours: 'bg-good-wash text-good' },
  failing: { text: 'Proof missing', icon: 'warning', colours: 'bg-warn-wash text-warn' },
  ending: { text: 'Expires soon', icon: 'clock', colours: 'bg-warn-wash text-warn' },
  revoked: { text: 'Revoked', icon: 'bar', colours: 'bg-sunken text-soft' },
  stale: { text: 'No longer verified', icon: 'bar', colours: 'bg-bad-wash text-bad' },
}

/** Shows the status by text, icon and colour. */
export function ChannelStatusMark({ channelStatus }: { readonly channelStatus: ChannelStatus }) {
  const { text, icon, colours } = STYLES[channelStatus]
  return (
    <span
      className={`inline-flex items-center gap-1.5 whitespace-nowrap rounded-full px-2.5 py-1 font-semibold text-sm leading-none ${colours}`}
    >
      <Icon name={icon} className="size-4" />
      {text}
    </span>
  )
}
