import type { ChannelCheck, CheckOutcome, OwnerChannel } from '@countersign/protocol'
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

const OUTCOME_TEXTS: Readonly<Record<CheckOutcome, string>> = {
  proven: 'found',
  absent: 'not found',
  unreachable: 'no answer',
}

interface EarlierChecksProps {
  readonly checks: readonly ChannelCheck[]
  readonly everVerified: boolean
}

function EarlierChecks({ checks, everVerified }: EarlierChecksProps) {
  if (checks.length === 0) return null
  return (
    <div>
      <h3 className="mb-2 text-soft text-sm">Earlier checks</h3>
      <ol className="flex flex-col divide-y divide-line border-line border-y">
        {checks.map(({ at, outcome, perspectives }) => (
          <li key={at}>
            <details className="group">
              <summary className="flex min-h-11 cursor-pointer list-none items-center gap-3 py-2 hover:text-accent">
                <Arrow />
                <span className="flex min-w-0 flex-1 flex-wrap items-center justify-between gap-x-4">
                  <DateTime at={at} as="minute" />
                  <span className="text-soft">{OUTCOME_TEXTS[outcome]}</span>
                </span>
              </summary>
              <div className="pb-4">
                <Perspectives perspectives={perspectives} everVerified={everVerified} />
              </div>
            </details>
          </li>
        ))}
      </ol>
    </div>
  )
}

function Arrow() {
  return (
    <svg
      viewBox="0 0 12 12"
      width="12"
      height="12"
      aria-hidden="true"
      className="shrink-0 group-open:rotate-90"
    >
      <path d="M4 2l4 4-4 4" fill="none" stroke="currentColor" strokeWidth="1.6" />
    </svg>
  )
}
