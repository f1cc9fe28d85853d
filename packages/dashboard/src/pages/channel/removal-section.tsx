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
    await navigate({ to: '/agents/$did', params: { did } })
    void cache.drop(id)
    toast(`${handleOrDomain} is removed.`)
  }

  return (
    <SheetSection title="Remove it">
      <p className="text-pretty">
        If the agent can no longer be reached there, or you do not want it to be seen.
      </p>
      <Button variant="warning" className="sm:self-start" onClick={() => setConfirming(true)}>
        Remove the channel …
      </Button>
      <ConfirmDialog
        open={confirming}
        onClose={() => setConfirming(false)}
        title={`Remove ${handleOrDomain}?`}
        action="Remove the channel"
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
    return <p>It counts for nothing at present: nothing changes for the agent.</p>
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
      <li>The certificate and the cards do not name it any more.</li>
      <li>Its checks are deleted. The history keeps that it was there, and that it was removed.</li>
      {!byAgent && <li>What you placed for it is of no more use: take it away there, too.</li>}
    </ul>
  )
}
