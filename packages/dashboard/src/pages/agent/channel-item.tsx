import type { OwnerChannel } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import { useId } from 'react'
import { NextCheck } from '../../channels/next-check.tsx'
import type { Standing } from '../../channels/standing.ts'
import { StandingMark } from '../../channels/standing-mark.tsx'
import { StandingSentence } from '../../channels/standing-sentence.tsx'
import { buttonClass } from '../../parts/button.tsx'
import { Moment } from '../../parts/moment.tsx'

/** What is to be done next, in the words of the link that leads there. */
const NEXT: Readonly<Record<Standing, string>> = {
  open: 'Prove it',
  over: 'Try again',
  verified: 'Details',
  failing: 'Put it right',
  ending: 'Renew it',
  stale: 'Prove it anew',
  ended: 'Details',
}

interface ChannelItemProps {
  readonly did: string
  readonly channel: OwnerChannel
  readonly standing: Standing
}

/** A channel in the list of an agent's. */
export function ChannelItem({ did, channel, standing }: ChannelItemProps) {
  const { id, label, handleOrDomain, checkedAt, nextCheckAt } = channel
  const heading = useId()
  return (
    <li aria-labelledby={heading} className="flex flex-col gap-3 py-5 last:pb-0">
      <p className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <span className="text-soft">{label}</span>
        <StandingMark standing={standing} />
      </p>
      <div className="flex flex-col gap-1">
        <h3 id={heading} className="font-semibold text-lg/7 wrap-anywhere">
          {handleOrDomain}
        </h3>
        <p className="text-pretty">
          <StandingSentence channel={channel} standing={standing} />
        </p>
        <p className="text-soft text-sm">
          {checkedAt !== null && (
            <>
              Last seen <Moment at={checkedAt} as="ago" />.
            </>
          )}
          {nextCheckAt !== null && (
            <>
              {' '}
              Looked for again <NextCheck at={nextCheckAt} />.
            </>
          )}
        </p>
      </div>
      <Link
        to="/agents/$did/channels/$channel"
        params={{ did, channel: id }}
        aria-label={`${NEXT[standing]}: ${handleOrDomain}`}
        className={`self-start ${buttonClass(NEXT[standing] === 'Details' ? 'secondary' : 'primary', 'small')}`}
      >
        {NEXT[standing]}
      </Link>
    </li>
  )
}
