import { Shape, type ShapeName } from './shape.tsx'
import type { Standing } from './standing.ts'

interface Look {
  readonly words: string
  readonly shape: ShapeName
  readonly colours: string
}

const LOOKS: Readonly<Record<Standing, Look>> = {
  open: { words: 'To be proven', shape: 'ring', colours: 'bg-accent-wash text-accent' },
  over: { words: 'Not proven in time', shape: 'clock', colours: 'bg-sunken text-soft' },
  verified: { words: 'Verified', shape: 'tick', colours: 'bg-good-wash text-good' },
  failing: { words: 'Proof is missing', shape: 'warning', colours: 'bg-warn-wash text-warn' },
  ending: { words: 'Ends soon', shape: 'clock', colours: 'bg-warn-wash text-warn' },
  ended: { words: 'Ended', shape: 'bar', colours: 'bg-sunken text-soft' },
  stale: { words: 'Counts no more', shape: 'bar', colours: 'bg-bad-wash text-bad' },
}

/** How a channel stands: words, shape and colour. */
export function StandingMark({ standing }: { readonly standing: Standing }) {
  const { words, shape, colours } = LOOKS[standing]
  return (
    <span
      className={`inline-flex items-center gap-1.5 whitespace-nowrap rounded-full px-2.5 py-1 font-semibold text-sm leading-none ${colours}`}
    >
      <Shape name={shape} className="size-4" />
      {words}
    </span>
  )
}
