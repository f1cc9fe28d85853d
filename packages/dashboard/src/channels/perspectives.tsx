import type { ChannelCheck, CheckOutcome } from '@countersign/protocol'
import { Shape, type ShapeName } from './shape.tsx'

const LOOKS: Readonly<Record<CheckOutcome, readonly [string, ShapeName, string]>> = {
  proven: ['Found', 'tick', 'text-good'],
  absent: ['Not found', 'bar', 'text-bad'],
  unreachable: ['No answer', 'question', 'text-warn'],
}

/** What was seen from each place from which a channel was looked at. */
export function Perspectives({ perspectives }: Pick<ChannelCheck, 'perspectives'>) {
  return (
    <ul className="flex flex-col divide-y divide-line rounded-lg border border-line">
      {perspectives.map(({ name, outcome, detail }) => {
        const [words, shape, ink] = LOOKS[outcome]
        return (
          <li key={name} className="flex gap-3 px-3 py-2.5">
            <Shape name={shape} className={`mt-0.5 size-5 shrink-0 ${ink}`} />
            <div className="min-w-0 flex-1">
              <p className="flex flex-wrap items-baseline justify-between gap-x-4">
                <span className={`font-medium ${ink}`}>{words}</span>
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
