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
    if (!byAgent) toast('Here is a fresh token.')
  })
  const urgent = proof === null && channelStatus !== 'verified'
  if (byAgent && proof !== null) return null

  return (
    <SheetSection title={byAgent ? 'Prove it anew' : 'Fresh token'}>
      <p className="text-pretty">
        {byAgent ? agentText(channelStatus) : tokenText(channelStatus, proof !== null)}
      </p>
      <Button
        variant={urgent ? 'primary' : 'secondary'}
        pending={renewing.pending}
        onClick={renewing.run}
        className="sm:self-start"
      >
        {byAgent ? 'Show what the agent does' : 'Get a fresh token'}
      </Button>
      <ErrorNote error={renewing.error} />
    </SheetSection>
  )
}

function tokenText(channelStatus: ChannelStatus, open: boolean): string {
  if (open) return 'A fresh one takes the place of the one above, which is void from then on.'
  if (channelStatus === 'expired') return 'The token before it was not seen in time, and is void.'
  if (channelStatus === 'stale') {
    return 'What proved the channel before does not bring it back: a fresh token does.'
  }
  return 'Once it is seen, the time of the channel begins anew. What proved it before goes on counting until then.'
}

function agentText(channelStatus: ChannelStatus): string {
  return channelStatus === 'expired'
    ? 'The agent did not prove it in time. Begin anew, and it has time again.'
    : 'The agent proves it in the same way as before, as often as it likes; its time begins anew whenever it does.'
}
