import type { Breach } from './breach.ts'
import type { Import } from './imports.ts'
import { MOST_ARROWS } from './rules.ts'

/** The room of a file of the server: its folder in packages/server/src. Undefined for any other file, and for main.ts. */
export function roomOf(path: string): string | undefined {
  return /^packages\/server\/src\/([^/]+)\//.exec(path)?.[1]
}

/** Every pair of rooms of which one imports the other, as `from → to`, sorted. */
export function arrowsBetween(imports: readonly Import[]): string[] {
  const arrows = imports.flatMap(({ from, target }) => {
    const room = roomOf(from)
    const other = target.kind === 'file' ? roomOf(target.path) : undefined
    return room === undefined || other === undefined || room === other ? [] : [`${room} → ${other}`]
  })
  return [...new Set(arrows)].toSorted()
}

/** Fewer arrows mean that a reader of one room has to know fewer others. */
export function checkArrows(imports: readonly Import[]): Breach[] {
  const arrows = arrowsBetween(imports)
  if (arrows.length <= MOST_ARROWS) return []
  return [
    {
      path: 'tools/structure/rules.ts',
      line: 1,
      wrong: `${arrows.length} pairs of rooms of the server import each other, more than ${MOST_ARROWS}: ${arrows.join(', ')}`,
      mend: 'take what is needed as a parameter, or move it to a room that both import already',
    },
  ]
}
