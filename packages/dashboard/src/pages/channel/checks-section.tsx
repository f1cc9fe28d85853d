import type { OwnerChannel } from '@countersign/protocol'
import { send } from '../../api/client.ts'
import { Perspectives } from '../../channels/perspectives.tsx'
import { channelPath } from '../../channels/queries.ts'
import { useChannelCache } from '../../channels/use-channel-cache.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Pulse } from '../../components/pulse.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { useAction } from '../../components/use-action.ts'
import { CheckResult } from './check-result.tsx'
import { EarlierChecks } from './earlier-checks.tsx'

interface ChecksSectionProps {
  readonly did: string
  readonly channel: OwnerChannel
  /** Whether the agent proves the channel by a request, instead of a check by the service. */
  readonly byAgent: boolean
  /** Whether the service can check it on demand. */
  readonly canCheck: boolean
}

/** Check results, and a button that starts a check. */
export function ChecksSection({ did, channel, byAgent, canCheck }: ChecksSectionProps) {
  const { id, state, proof, checks, verifiedAt } = channel
  const everVerified = verifiedAt !== null
  const cache = useChannelCache(did)
  const checking = useAction(async () => {
    await cache.put(await send<OwnerChannel>('POST', `${channelPath(did, id)}/check`))
  })
  const [latest, ...earlier] = checks
  const sought = state === 'verified' || proof !== null
  if (!sought && latest === undefined) return null

  return (
    <SheetSection
      title={byAgent ? 'Proofs' : 'Checks'}
      lead={
        byAgent
          ? undefined
          : 'The service looks for the published text from several places on the internet.'
      }
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
          Waiting for the agent. This page updates automatically.
        </p>
      )}
      {/* Always rendered, so that screen readers announce its content. */}
      <div role="status" className="flex flex-col gap-1 empty:hidden">
        {checking.pending && <p>Checking …</p>}
        {latest && !byAgent && !checking.pending && (
          <CheckResult channel={channel} check={latest} />
        )}
      </div>
      <ErrorNote error={checking.error} />
      {latest && (
        <div className={checking.pending ? 'opacity-60' : ''}>
          <h3 className="mb-2 text-soft text-sm">
            Last check, <DateTime at={latest.at} as="ago" />
          </h3>
          <Perspectives perspectives={latest.perspectives} everVerified={everVerified} />
        </div>
      )}
      <EarlierChecks checks={earlier} everVerified={everVerified} />
    </SheetSection>
  )
}
