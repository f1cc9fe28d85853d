import type { AgentStatus, Grade } from '@countersign/protocol'
import { rosettesOf, SEAL_EDGE } from './rosette.ts'

export interface GradeMarkProps {
  readonly grade: Grade
  /** The seal of a revoked certificate is crossed out. */
  readonly status?: AgentStatus
  /** The seal of a certificate whose owner was verified for development only: DEV instead of the grade. */
  readonly developmentOnly?: boolean | undefined
  readonly size?: 'small' | 'medium' | 'large'
  /** The seed of the seal's pattern, so that certificates look different. Small seals have no pattern. */
  readonly seed?: string
}

const SIZES = { small: 'size-8', medium: 'size-16', large: 'size-28 sm:size-40' } as const

const INKS: Readonly<Record<AgentStatus, string>> = {
  active: 'text-accent',
  suspended: 'text-warn',
  revoked: 'text-bad',
}

/** A grade's letter in a seal. */
export function GradeMark(props: GradeMarkProps) {
  const { grade, status = 'active', size = 'small', seed, developmentOnly = false } = props
  const patterned = size !== 'small' && seed !== undefined
  const letter = size === 'small' ? LETTER.small : LETTER.large
  const { y, fontSize } = developmentOnly ? letter.development : letter.grade
  const name = developmentOnly ? 'Development only' : `Grade ${grade}`
  return (
    <svg
      viewBox="-52 -52 104 104"
      role="img"
      aria-label={status === 'active' ? name : `${name}, ${status}`}
      className={`shrink-0 ${SIZES[size]} ${inkOf(props)}`}
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
        y={y}
        fontSize={fontSize}
        fontWeight="700"
        fill="currentColor"
        paintOrder="stroke"
        className={status === 'revoked' ? 'stroke-surface' : undefined}
        stroke="none"
        strokeWidth="14"
      >
        {developmentOnly ? 'DEV' : grade}
      </text>
    </svg>
  )
}

const LETTER = {
  small: { grade: { y: 19, fontSize: 54 }, development: { y: 11, fontSize: 30 } },
  large: { grade: { y: 13, fontSize: 37 }, development: { y: 7, fontSize: 20 } },
} as const

function inkOf({ grade, status = 'active', developmentOnly }: GradeMarkProps): string {
  if (status !== 'active') return INKS[status]
  if (developmentOnly) return INKS.suspended
  return grade === 'E' ? 'text-soft' : INKS.active
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
