import type { OwnerChannel } from '@countersign/protocol'
import { send } from '../../api/client.ts'
import type { ChannelStatus } from '../../channels/channel-status.ts'
import { channelPath } from '../../channels/queries.ts'
import { useChannelCache } from '../../channels/use-channel-cache.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'

interface RenewalSectionProps {
  readonly did: string
  readonly channel: OwnerChannel
  readonly channelStatus: ChannelStatus
  /** Whether the agent proves the channel, which needs no token. */
  readonly byAgent: boolean
  readonly onRenewed: () => void
}

/** Requests a new token, which extends or restores a channel. */
export function RenewalSection({
  did,
  channel,
  channelStatus,
  byAgent,
  onRenewed,
}: RenewalSectionProps) {
  const { id, proof } = channel
  const cache = useChannelCache(did)
  const renewing = useAction(async () => {
    const renewed = await send<OwnerChannel>('POST', `${channelPath(did, id)}/renew`)
    onRenewed()
    void cache.put(renewed)
    if (!byAgent) toast('New token created.')
  })
  const urgent = proof === null && channelStatus !== 'verified'
  if (byAgent && proof !== null) return null

  return (
    <SheetSection title="Renew the channel">
      <p className="text-pretty">
        {byAgent ? agentText(channelStatus) : tokenText(channelStatus, proof !== null)}
      </p>
      <Button
        variant={urgent ? 'primary' : 'secondary'}
        pending={renewing.pending}
        onClick={renewing.run}
        className="sm:self-start"
      >
        {byAgent ? 'Show the command' : 'Create new token'}
      </Button>
      <ErrorNote error={renewing.error} />
    </SheetSection>
  )
}

function tokenText(channelStatus: ChannelStatus, open: boolean): string {
  if (open) return 'A new token replaces the one above, which is then invalid.'
  if (channelStatus === 'expired') return 'The previous token expired before it was found.'
  if (channelStatus === 'stale') {
    return 'The previous proof is no longer accepted. Publish a new token.'
  }
  return 'Publish a new token to extend the channel. Until it is found, the earlier proof still counts.'
}

function agentText(channelStatus: ChannelStatus): string {
  return channelStatus === 'expired'
    ? 'The agent did not run the command in time. Start again.'
    : 'The agent can run the command again at any time. Each run extends the channel.'
}
