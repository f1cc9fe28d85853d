import type { OwnerChannel } from '@countersign/protocol'
import type { ReactNode } from 'react'
import { NextCheck } from '../../channels/next-check.tsx'
import type { Standing } from '../../channels/standing.ts'
import { StandingMark } from '../../channels/standing-mark.tsx'
import { StandingSentence } from '../../channels/standing-sentence.tsx'
import { Moment } from '../../parts/moment.tsx'

interface StandingPanelProps {
  readonly channel: OwnerChannel
  readonly standing: Standing
  readonly byAgent: boolean
}

/** How the channel stands: in words, with the dates behind them. */
export function StandingPanel({ channel, standing, byAgent }: StandingPanelProps) {
  const { tier, verifiedAt, checkedAt, nextCheckAt, freshUntil } = channel
  return (
    <section aria-label="How it stands" className="flex flex-col gap-5">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-3">
        <span className="flex min-h-7 items-center">
          <StandingMark standing={standing} />
        </span>
        <p className="min-w-0 flex-1 basis-72 text-pretty text-lg">
          <StandingSentence channel={channel} standing={standing} />
        </p>
      </div>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-4 border-line border-y py-4 sm:grid-cols-4">
        <Fact name="Worth">
          Tier {tier}: {tier} of the grade’s 4 points
        </Fact>
        <Fact name="Proven">{verifiedAt === null ? 'Not yet' : <Moment at={verifiedAt} />}</Fact>
        <Fact name="Last seen">
          {checkedAt === null ? 'Not yet' : <Moment at={checkedAt} as="ago" />}
        </Fact>
        {byAgent ? (
          <Fact name="Counts until">
            {freshUntil === null ? 'Not yet' : <Moment at={freshUntil} />}
          </Fact>
        ) : (
          <Fact name="Looked for again">
            {nextCheckAt === null ? whyNotBy(standing) : <NextCheck at={nextCheckAt} />}
          </Fact>
        )}
      </dl>
    </section>
  )
}

function whyNotBy(standing: Standing): string {
  if (standing === 'ended') return 'No more'
  return standing === 'over' || standing === 'stale'
    ? 'Not before it has a fresh token'
    : 'When you ask for it'
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-soft text-sm">{name}</dt>
      <dd className="mt-0.5 text-pretty">{children}</dd>
    </div>
  )
}
