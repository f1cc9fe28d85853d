import { rosettesOf, SEAL_EDGE } from '@countersign/ui'
import type { ReactNode } from 'react'
import { STYLES } from './preview-styles.ts'

/** The attributes of each layer of a seal. */
export const SEAL_LAYER = {
  width: 270,
  height: 270,
  viewBox: '-52 -52 104 104',
  fill: 'none',
  style: STYLES.layer,
} as const

interface PreviewSealProps {
  /** Of the pattern. */
  readonly seed: string
  readonly ink: string
  /** In the middle. */
  readonly children?: ReactNode
}

/** The seal of a preview image, with its pattern. */
export function PreviewSeal({ seed, ink, children }: PreviewSealProps) {
  return (
    <svg aria-hidden="true" {...SEAL_LAYER} stroke={ink}>
      <path d={SEAL_EDGE} strokeWidth="1.5" />
      {rosettesOf(seed).flatMap(({ path, turns }) =>
        turns.map((turn) => (
          <path
            key={`${path.length} ${turn}`}
            d={path}
            transform={`rotate(${turn})`}
            strokeWidth=".5"
            opacity=".7"
          />
        )),
      )}
      <circle r="43.5" strokeWidth=".6" />
      <circle r="25" fill="#fff" />
      {children}
    </svg>
  )
}
