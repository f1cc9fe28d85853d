import type { OwnerChannel } from '@countersign/protocol'
import { send } from '../../api/client.ts'
import { channelPath } from '../../channels/queries.ts'
import type { Standing } from '../../channels/standing.ts'
import { useChannelCache } from '../../channels/use-channel-cache.ts'
import { Button } from '../../parts/button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Clause } from '../../parts/sheet.tsx'
import { toast } from '../../parts/toast.tsx'
import { useAction } from '../../parts/use-action.ts'

interface TokenClauseProps {
  readonly did: string
  readonly channel: OwnerChannel
  readonly standing: Standing
  /** Whether the agent proves it, which takes no token. */
  readonly byAgent: boolean
  readonly onRenewed: () => void
}

/** A fresh token: how a channel counts for longer, or again. */
export function TokenClause({ did, channel, standing, byAgent, onRenewed }: TokenClauseProps) {
  const { id, proof } = channel
  const cache = useChannelCache(did)
  const renewing = useAction(async () => {
    const renewed = await send<OwnerChannel>('POST', `${channelPath(did, id)}/renew`)
    onRenewed()
    void cache.put(renewed)
    if (!byAgent) toast('Here is a fresh token.')
  })
  const urgent = proof === null && standing !== 'verified'
  if (byAgent && proof !== null) return null

  return (
    <Clause title={byAgent ? 'Prove it anew' : 'Fresh token'}>
      <p className="text-pretty">
        {byAgent ? whatTheAgentDoes(standing) : whatFor(standing, proof !== null)}
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
    </Clause>
  )
}

function whatFor(standing: Standing, open: boolean): string {
  if (open) return 'A fresh one takes the place of the one above, which is void from then on.'
  if (standing === 'over') return 'The token before it was not seen in time, and is void.'
  if (standing === 'stale') {
    return 'What proved the channel before does not bring it back: a fresh token does.'
  }
  return 'Once it is seen, the time of the channel begins anew. What proved it before goes on counting until then.'
}

function whatTheAgentDoes(standing: Standing): string {
  return standing === 'over'
    ? 'The agent did not prove it in time. Begin anew, and it has time again.'
    : 'The agent proves it in the same way as before, as often as it likes; its time begins anew whenever it does.'
}
