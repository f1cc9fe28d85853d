import type { AgentStatus, Grade } from '@countersign/protocol'
import { rosettesOf, SEAL_EDGE } from './rosette.ts'

export interface GradeMarkProps {
  readonly grade: Grade
  /** The seal of a revoked certificate is crossed out. */
  readonly status?: AgentStatus
  readonly size?: 'small' | 'medium' | 'large'
  /** The seed of the seal's pattern, so that certificates look different. Small seals have no pattern. */
  readonly seed?: string
}

const SIZES = { small: 'size-8', medium: 'size-16', large: 'size-32 sm:size-44' } as const

const INKS: Readonly<Record<AgentStatus, string>> = {
  active: 'text-accent',
  suspended: 'text-warn',
  revoked: 'text-bad',
}

/** A grade's letter in a seal. */
export function GradeMark({ grade, status = 'active', size = 'small', seed }: GradeMarkProps) {
  const patterned = size !== 'small' && seed !== undefined
  const ink = grade === 'E' && status === 'active' ? 'text-soft' : INKS[status]
  return (
    <svg
      viewBox="-52 -52 104 104"
      role="img"
      aria-label={status === 'active' ? `Grade ${grade}` : `Grade ${grade}, ${status}`}
      className={`shrink-0 ${SIZES[size]} ${ink}`}
      fill="none"
      stroke="currentColor"
    >
      <path d={SEAL_EDGE} className="fill-surface" strokeWidth={size === 'small' ? 5 : 1.5} />
      {patterned && <Pattern seed={seed} />}
      {size !== 'small' && (
        <g strokeWidth="1">
          <circle r="43.5" strokeWidth=".6" />
          <circle r="25" className="fill-surface" />
        </g>
      )}
      {status === 'revoked' && <Strike width={size === 'small' ? 9 : 5} />}
      {status === 'revoked' && size !== 'small' && (
        <circle r="25" className="fill-surface" strokeWidth="1" />
      )}
      <text
        textAnchor="middle"
        y={size === 'small' ? 19 : 13}
        fontSize={size === 'small' ? 54 : 37}
        fontWeight="700"
        fill="currentColor"
        paintOrder="stroke"
        className={status === 'revoked' ? 'stroke-surface' : undefined}
        stroke="none"
        strokeWidth="14"
      >
        {grade}
      </text>
    </svg>
  )
}

function Pattern({ seed }: { readonly seed: string }) {
  return (
    <g strokeWidth=".5" opacity=".7">
      {rosettesOf(seed).flatMap(({ path, turns }) =>
        turns.map((turn) => (
          <path key={`${path.length} ${turn}`} d={path} transform={`rotate(${turn})`} />
        )),
      )}
    </g>
  )
}

/** A line across the seal and behind its letter, with an outline so that it stands out from the pattern. */
function Strike({ width }: { readonly width: number }) {
  return (
    <g strokeLinecap="round">
      <path d="M-42 30 42-30" className="stroke-surface" strokeWidth={width * 2} />
      <path d="M-44 31.4 44-31.4" strokeWidth={width} />
    </g>
  )
}
