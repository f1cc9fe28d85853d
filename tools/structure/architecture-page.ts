import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Breach } from './breach.ts'
import { ROOMS } from './rules.ts'

const PAGE = 'ARCHITECTURE.md'
/** A newcomer reads it in ten minutes. */
const MOST_BYTES = 8000

/** ARCHITECTURE.md is short, and its table of rooms has each room in the order of imports. */
export function checkArchitecturePage(root: string): Breach[] {
  const file = join(root, PAGE)
  if (!existsSync(file)) return [onPage('there is no such page', 'write it')]
  const text = readFileSync(file, 'utf8')
  const bytes = Buffer.byteLength(text)
  const rooms = [...text.matchAll(/^\| `([a-z]+)\/` \|/gm)].map(([, room]) => room)
  return [
    ...(bytes > MOST_BYTES
      ? [onPage(`${bytes} bytes, more than ${MOST_BYTES}`, 'move detail to the file it is about')]
      : []),
    ...(rooms.join() === ROOMS.join()
      ? []
      : [onPage(`its table has the rooms ${rooms.join(', ')}`, `list ${ROOMS.join(', ')}`)]),
  ]
}

function onPage(wrong: string, mend: string): Breach {
  return { path: PAGE, line: 1, wrong, mend }
}
