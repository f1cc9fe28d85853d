import type { OwnerAgent, OwnerChannel } from '@countersign/protocol'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { channelPath } from '../../channels/queries.ts'
import { useChannelCache } from '../../channels/use-channel-cache.ts'
import { useProjectedGrade } from '../../channels/use-projected-grade.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { toast } from '../../components/toast.tsx'

interface RemovalSectionProps {
  readonly did: string
  readonly agent: OwnerAgent
  readonly channel: OwnerChannel
  readonly byAgent: boolean
}

/** Removes the channel after explaining the effects. */
export function RemovalSection(props: RemovalSectionProps) {
  const { did, channel } = props
  const { id, handleOrDomain } = channel
  const [confirming, setConfirming] = useState(false)
  const cache = useChannelCache(did)
  const navigate = useNavigate()

  async function remove() {
    await send('DELETE', channelPath(did, id))
    await navigate({ to: '/agents/$did/channels', params: { did } })
    void cache.drop(id)
    toast(`${handleOrDomain} removed.`)
  }

  return (
    <SheetSection title="Remove the channel">
      <p className="text-pretty">
        Remove the channel if the agent can no longer be reached there, or to hide it.
      </p>
      <Button variant="warning" className="sm:self-start" onClick={() => setConfirming(true)}>
        Remove channel …
      </Button>
      <ConfirmDialog
        open={confirming}
        onClose={() => setConfirming(false)}
        title={`Remove ${handleOrDomain}?`}
        action="Remove channel"
        danger
        onConfirm={remove}
      >
        <Effects {...props} />
      </ConfirmDialog>
    </SheetSection>
  )
}

function Effects({ did, agent, channel, byAgent }: RemovalSectionProps) {
  const projectedGrade = useProjectedGrade(did, agent)
  if (channel.state !== 'verified') {
    return <p>The channel is not verified, so the grade does not change.</p>
  }
  const to = projectedGrade?.without(channel)
  return (
    <ul className="list-disc space-y-1.5 pl-5 text-pretty">
      {projectedGrade && (
        <li>
          {to === projectedGrade.now ? (
            `The grade of ${agent.displayName} stays ${to}.`
          ) : (
            <strong className="font-semibold">
              The grade of {agent.displayName} falls from {projectedGrade.now} to {to}.
            </strong>
          )}
        </li>
      )}
      <li>The certificate and the cards no longer show it.</li>
      <li>Its checks are deleted. The activity still shows that you added and removed it.</li>
      {!byAgent && <li>You can remove the text that you published there.</li>}
    </ul>
  )
}
