import type { ChannelCheck, CheckOutcome } from '@countersign/protocol'
import { Perspectives } from '../../channels/perspectives.tsx'
import { DateTime } from '../../components/date-time.tsx'

const OUTCOME_TEXTS: Readonly<Record<CheckOutcome, string>> = {
  proven: 'found',
  absent: 'not found',
  unreachable: 'no answer',
}

interface EarlierChecksProps {
  readonly checks: readonly ChannelCheck[]
  readonly everVerified: boolean
}

export function EarlierChecks({ checks, everVerified }: EarlierChecksProps) {
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
