import type { CSSProperties } from 'react'

/** Subsets of Inter, each a font of its own; a character is taken from the first that has it. */
export const FONT_SUBSETS = [
  'latin',
  'latin-ext',
  'greek',
  'cyrillic',
  'cyrillic-ext',
  'vietnamese',
] as const

export const PREVIEW_WIDTH = 1200
export const PREVIEW_HEIGHT = 630

const COLUMN = { display: 'flex', flexDirection: 'column' } as const
const ROW = { display: 'flex', justifyContent: 'space-between' } as const

/** Fixed colours: social networks have no dark variant of a preview image. */
const INK = '#1b1f19'
const SOFT = '#55594f'

/** Inline styles, the only ones that satori supports. */
export const STYLES = {
  ground: {
    ...COLUMN,
    width: PREVIEW_WIDTH,
    height: PREVIEW_HEIGHT,
    fontFamily: FONT_SUBSETS.join(', '),
    fontSize: 28,
    lineHeight: 1.4,
    color: INK,
  },
  frame: { ...COLUMN, flexGrow: 1, margin: 28, borderRadius: 24, backgroundColor: '#fff' },
  inside: {
    ...COLUMN,
    flexGrow: 1,
    margin: 8,
    borderRadius: 16,
  },
  sheet: { ...COLUMN, flexGrow: 1, justifyContent: 'space-between', margin: '34px 48px' },
  heading: { ...ROW, fontSize: 26, color: SOFT },
  middle: { ...ROW, alignItems: 'center' },
  names: { ...COLUMN, width: 700 },
  standing: {
    alignSelf: 'flex-start',
    marginTop: 26,
    padding: '6px 28px',
    borderRadius: 999,
    fontSize: 40,
    fontWeight: 700,
    color: '#fff',
  },
  development: {
    padding: '2px 26px',
    borderRadius: 999,
    border: '3px solid #8a5200',
    fontSize: 34,
    fontWeight: 700,
    color: '#8a5200',
  },
  dev: { fontSize: 50 },
  claim: { fontSize: 92, fontWeight: 700, lineHeight: 1.1, letterSpacing: '-0.02em' },
  foot: COLUMN,
  soft: { color: SOFT },
  seal: { display: 'flex', position: 'relative', width: 270, height: 270 },
  layer: { position: 'absolute', top: 0, left: 0 },
  letter: {
    position: 'absolute',
    top: 0,
    left: 0,
    width: 270,
    height: 270,
    display: 'flex',
    alignItems: 'center',
    justifyContent: 'center',
    fontSize: 92,
    fontWeight: 700,
  },
} as const satisfies Record<string, CSSProperties>

/** Makes the font smaller for long names. */
export function nameStyle(name: string, struck: boolean): CSSProperties {
  const fontSize = name.length <= 16 ? 92 : name.length <= 32 ? 70 : 52
  return {
    fontSize,
    fontWeight: 700,
    lineHeight: 1.1,
    letterSpacing: '-0.02em',
    ...(struck && { textDecoration: 'line-through' }),
  }
}
