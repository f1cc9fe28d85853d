import type { ChannelCheck, CheckOutcome } from '@countersign/protocol'
import { Icon, type IconName } from './icon.tsx'

const STYLES: Readonly<Record<CheckOutcome, readonly [string, IconName, string]>> = {
  proven: ['Found', 'tick', 'text-good'],
  absent: ['Not found', 'bar', 'text-bad'],
  unreachable: ['No answer', 'question', 'text-warn'],
}

/** Before the first proof, its absence is no problem. */
const NOT_YET = ['Not found yet', 'ring', 'text-soft'] as const

interface PerspectivesProps extends Pick<ChannelCheck, 'perspectives'> {
  /** Whether the channel was ever verified. */
  readonly everVerified: boolean
}

/** The result of a check from each perspective. */
export function Perspectives({ perspectives, everVerified }: PerspectivesProps) {
  return (
    <ul className="flex flex-col divide-y divide-line rounded-lg border border-line">
      {perspectives.map(({ name, outcome, detail }) => {
        const expected = outcome === 'absent' && !everVerified
        const [text, icon, colour] = expected ? NOT_YET : STYLES[outcome]
        return (
          <li key={name} className="flex gap-3 px-3 py-2.5">
            <Icon name={icon} className={`mt-0.5 size-5 shrink-0 ${colour}`} />
            <div className="min-w-0 flex-1">
              <p className="flex flex-wrap items-baseline justify-between gap-x-4">
                <span className={`font-medium ${colour}`}>{text}</span>
                <span className="text-soft text-sm wrap-anywhere">from {name}</span>
              </p>
              <p className="text-pretty text-sm wrap-anywhere">{detail}</p>
            </div>
          </li>
        )
      })}
    </ul>
  )
}
