import type { OwnerChannel } from '@countersign/protocol'
import { send } from '../../api/client.ts'
import { Perspectives } from '../../channels/perspectives.tsx'
import { channelPath } from '../../channels/queries.ts'
import { useChannelCache } from '../../channels/use-channel-cache.ts'
import { Button } from '../../parts/button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Moment } from '../../parts/moment.tsx'
import { Pulse } from '../../parts/pulse.tsx'
import { Clause } from '../../parts/sheet.tsx'
import { useAction } from '../../parts/use-action.ts'
import { EarlierChecks } from './earlier-checks.tsx'
import { Verdict } from './verdict.tsx'

interface ChecksClauseProps {
  readonly did: string
  readonly channel: OwnerChannel
  /** Whether the agent comes to us. */
  readonly byAgent: boolean
  /** Whether it can be looked for from here. */
  readonly canCheck: boolean
}

/** What was seen when the channel was looked at, and looking now. */
export function ChecksClause({ did, channel, byAgent, canCheck }: ChecksClauseProps) {
  const { id, state, proof, checks } = channel
  const cache = useChannelCache(did)
  const checking = useAction(async () => {
    await cache.put(await send<OwnerChannel>('POST', `${channelPath(did, id)}/check`))
  })
  const [latest, ...earlier] = checks
  const sought = state === 'verified' || proof !== null
  if (!sought && latest === undefined) return null

  return (
    <Clause
      title={byAgent ? 'Proofs' : 'Checks'}
      lead={byAgent ? undefined : 'What is placed is looked for as anyone on the internet sees it.'}
    >
      {canCheck && sought && (
        <Button
          variant={proof === null ? 'secondary' : 'primary'}
          pending={checking.pending}
          onClick={checking.run}
          className="sm:self-start"
        >
          Check now
        </Button>
      )}
      {byAgent && proof !== null && (
        <p className="flex items-center gap-3 font-medium">
          <Pulse />
          Waiting for the agent. This page says so when it has come.
        </p>
      )}
      {/* Always there, so that a screen reader hears what appears in it. */}
      <div role="status" className="flex flex-col gap-1 empty:hidden">
        {checking.pending && <p>Looking from every side …</p>}
        {latest && !byAgent && !checking.pending && <Verdict channel={channel} check={latest} />}
      </div>
      <ErrorNote error={checking.error} />
      {latest && (
        <div className={checking.pending ? 'opacity-60' : ''}>
          <h3 className="mb-2 text-soft text-sm">
            Last check, <Moment at={latest.at} as="ago" />
          </h3>
          <Perspectives perspectives={latest.perspectives} />
        </div>
      )}
      <EarlierChecks checks={earlier} />
    </Clause>
  )
}
